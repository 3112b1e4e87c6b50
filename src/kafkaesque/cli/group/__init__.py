"""`kafkaesque group …`: consumer groups. app.py lists the commands, seek.py moves a group,
names.py completes names of groups.
"""
