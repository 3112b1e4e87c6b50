"""Clients with a memory: each does its steps in order, over its own connection, life after life."""
