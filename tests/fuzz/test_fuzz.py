"""Some hundred hostile files of every kind, and every one that was once not read or refused properly."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pytest

from calib import CalibratorFileError
from calib.files.saved.document import write_document
from tests.fuzz import own
from tests.fuzz.cases import MAKERS, make, use
from tests.written import bytes_of

#: Files of each kind; `python -m tests.fuzz --minutes 60` makes as many as it is told.
COUNT = int(os.environ.get("CALIB_FUZZ", "25"))
#: Content that once raised or warned.
FOUND = {
    "labels beside names that were never predicted": b"a,b,label\n0.5,0.5,x\n0.25,0.75,\n0.5,0.5,y\n",
    "column without a number": b"a,b,c\n0.5,0.5,\n0.25,0.75,\n",
    "scores whose sum is infinite": b"a,b,y\n1e308,1e308,0\n1e308,1e308,1\n1,2,1\n",
    "half a character in a name": b'[{"a\\ud800":0.3,"b":0.7,"label":"b"}]',
    "half a character in a label": b'{"probs":[[0.3,0.7]],"labels":["\\udfff"]}',
    "half a character in a text": b'{"p_a":0.3,"p_b":0.7,"label":"b","prompt":"cut\\ud800"}',
    "half a character in the name of a text": b'{"p_a":0.3,"p_b":0.7,"label":"b","pro\\udfffmpt":"cut"}',
    "signalling NaN among names": make(1637)[1],
    "double softmax in one part, log-odds in the other": make(503725)[1],
    "columns of different lengths among scores": make(505927)[1],
    "no row with a prediction and a label": make(2002605)[1],
    "signalling NaN among logits": make(7100017)[1],
    "integer beyond floats": b'[{"a":1' + b"0" * 400 + b',"b":0.7}]',
    "empty split": bytes_of(pd.DataFrame({"a": [0.5], "b": [0.5], "split": [None]}).to_parquet),
    "split of numbers with gaps": b"a,b,split\n0.5,0.5,1\n0.5,0.5,\n",
    "text of no code points": bytes_of(np.save, np.array(["ab"])).replace(b"a\0\0\0", b"\xff\xff\xff\x7f"),
    "fewer ids than rows": bytes_of(np.savez, proba=np.full((3, 2), 0.5), ids=np.arange(2)),
    "fewer splits than rows": bytes_of(np.savez, proba=np.full((3, 2), 0.5), split=np.array(["test"])),
    "vectors of different lengths": bytes_of(np.savez, p_cat=np.ones(3), p_dog=np.ones(4)),
    "scores whose median is infinite": b"n,a,b\n10,1e308,0.5\n20,1e308,0.5\n31,1e308,0.5\n40,1e308,0.5\n",
    "signalling NaN in a vector": make(140007762)[1],
    "signalling NaN beside wider numbers": make(140010379)[1],
    "missing scores taken for log-odds": make(140005457)[1],
    "labels of another length than the score": make(902027)[1],
    "infinite fraction called the true class": make(500)[1],
    "infinite label beside scores of classes": make(58)[1],
    "array of true and false that no name calls a label": make(707)[1],
    "matrix of scores without rows": make(772)[1],
    "decisions of another length than the score": make(2001437)[1],
    "numbers as predicted classes, words and a number as true ones": make(205)[1],
    "matrix of scores without columns": make(662)[1],
    "sums of rows beyond floats": make(2144977)[1],
    "products of cells beyond floats": make(2164808)[1],
    "words of a matrix of truths taken for numbers": make(2036687)[1],
    "fewer names than scores in doubt": make(2083782)[1],
    "text of no code points among words": make(3101123)[1],
    "matrix without columns in doubt": make(3126402)[1],
    "long name": b"x" * 1_500 + b",b\n0.5,0.5\n",
}


@pytest.mark.parametrize("kind", range(len(MAKERS)), ids=list(MAKERS))
def test_hostile_files_give_a_result_or_one_sentence(kind):
    for seed in range(kind, COUNT * len(MAKERS), len(MAKERS)):
        use(make(seed)[1])


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found(name):
    use(FOUND[name])


def test_damaged_files_of_calib_give_a_result_or_one_sentence():
    pytest.importorskip("skops", reason="the skops extra is not installed")
    for seed in range(COUNT * len(own.FORMATS)):
        own.use(*own.make(seed))


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("junk", own.JUNK)
@pytest.mark.parametrize("name", own.FORMATS)
def test_files_of_calib_with_megabytes_of_junk_are_refused_in_little_memory(name, junk, compressed):
    pytest.importorskip("skops", reason="the skops extra is not installed")
    data = own.originals()[name][-1]
    own.READERS[name](data)  # with what it imports
    content = own.filled(data, own.JUNK[junk], 3 << 20, compressed=compressed)
    own.use(name, content)


def test_a_monitor_without_cells_is_refused():
    document = json.loads(own.originals()["monitor"][0])
    document.pop("checksum")
    document["levels"]["all"] |= {"cells": [], "sums": []}
    with pytest.raises(CalibratorFileError):
        own.READERS["monitor"](write_document(document))
