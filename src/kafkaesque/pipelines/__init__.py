"""Data pipelines: Spark, through PySpark, fed from topics and feeding them."""
