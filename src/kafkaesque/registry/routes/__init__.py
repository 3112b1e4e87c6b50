"""Every path of the API. Each file has the table of its routes at its end.

Above: app.py. Below: requests.py, answers.py, journal.py, decisions/.
"""
