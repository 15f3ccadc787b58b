"""A page about the near-duplicates of a table, for people who decide about it before they guard it.

``python -m pg_simhash report postgresql://... docs body > report.html`` looks up a sample of the rows, and writes one
HTML file. It needs the packages of the extra ``[report]``. The server compares the texts. The compiled module
removes markup, and shows which words only moved.

``table`` reads what the catalogue says about the table, ``sample`` looks up its rows, ``summary`` counts them and
chooses pairs, ``difference`` marks in what two texts differ, ``page`` makes the page of it, and ``command`` runs these
steps.
"""
