"""The pages of the console. They only draw: what there is to know is in the poller's view.

frame.py is around all of them and knows their addresses; a new page is one entry in its list.
parts.py has what pages are made of.
"""
