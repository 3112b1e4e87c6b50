"""How Spark's JVM gets started: quickly, and on a machine without Java too.

java.py finds a Java, launcher.py puts a script before one that lacks modules, command.py asks Spark
for the command, aot.py adds the classes that rehearsal.py has loaded ahead of time, jvm.py starts
the process; caches.py keeps what is made once. Above: session.py, doctor.py.
"""
