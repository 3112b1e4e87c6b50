"""`kafkaesque pipeline …`: app.py lists the commands, doctor.py says what they will run on."""
