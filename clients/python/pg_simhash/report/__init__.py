"""A page about the near-duplicates of a table, for those who decide whether to guard it.

``python -m pg_simhash report postgresql://... docs body > report.html`` looks up a sample of the rows, and writes one
HTML file. It needs the packages of the extra ``[report]``. The server compares the texts. The compiled module
removes markup, and tells which words were only moved.

``table`` reads the catalogue, ``sample`` looks up the table's rows, ``summary`` counts them and chooses pairs,
``difference`` marks the words in which two texts differ, ``page`` makes the page, and ``command`` parses the arguments.
"""
