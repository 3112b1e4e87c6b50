"""`kafkaesque up`: the platform on one machine, each part in a process of its own.

command.py is the command, platform.py the parts that it runs; ports.py and reset.py come before
anything is started. supervisor.py keeps the processes (processes.py) running, and child.py lets
each end with its parent.
"""
