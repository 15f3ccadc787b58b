"""Arrow data, through the PyCapsule interface."""

import ctypes
import gc
import unittest

import numpy as np
import pyarrow as pa

from pg_simhash import FingerprintArray, clusters, pairs, simhash

TEXTS = ["one text", None, "", "another", "naïve café, a text of more than twelve bytes", None, "short", "one text"] * 3
FINGERPRINTS = simhash(TEXTS)
TYPES = [pa.string(), pa.large_string(), pa.string_view()]


class OnlyStream:
    """An object with Arrow's stream interface, and no other."""

    def __init__(self, chunks):
        self.chunks = chunks

    def __arrow_c_stream__(self, requested_schema=None):
        return self.chunks.__arrow_c_stream__(requested_schema)


class FailingStream:
    """A stream whose first batch, or schema, is an error."""

    SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    MESSAGE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    def __init__(self, message, fails_late):
        def get_schema(stream, schema):
            pa.string()._export_to_c(schema)
            return 0 if fails_late else 5

        def release(stream):
            self.memory[3] = None

        self.message = ctypes.create_string_buffer(message) if message else None
        self.callbacks = [
            self.SCHEMA(get_schema),
            self.SCHEMA(lambda stream, array: 5),
            self.MESSAGE(lambda stream: ctypes.addressof(self.message) if message else None),
            self.RELEASE(release),
        ]
        addresses = [ctypes.cast(callback, ctypes.c_void_p) for callback in self.callbacks]
        self.memory = (ctypes.c_void_p * 5)(*addresses, None)

    def __arrow_c_stream__(self, requested_schema=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.memory), b"arrow_array_stream", None)


class Arrow(unittest.TestCase):
    def test_all_types_of_strings(self):
        for kind in TYPES:
            with self.subTest(kind):
                found = simhash(pa.array(TEXTS, kind))
                self.assertIs(type(found), FingerprintArray)
                self.assertEqual(list(found), FINGERPRINTS)

    def test_slices_have_offsets(self):
        for kind in TYPES:
            for begin, end in [(1, 20), (9, 9), (8, 24), (3, 4)]:
                with self.subTest((kind, begin, end)):
                    found = simhash(pa.array(TEXTS, kind)[begin:end])
                    self.assertEqual(list(found), FINGERPRINTS[begin:end])

    def test_buffers_need_no_alignment(self):
        def shifted(array):
            buffers = [buffer and pa.py_buffer(b"x" + buffer.to_pybytes())[1:] for buffer in array.buffers()]
            return pa.Array.from_buffers(array.type, len(array), buffers)

        for kind in TYPES:
            with self.subTest(kind):
                self.assertEqual(list(simhash(shifted(pa.array(TEXTS, kind)))), FINGERPRINTS)
        found = pairs(shifted(pa.array([1, None, 3, 3])), 0)
        self.assertEqual([column.tolist() for column in found], [[2], [3], [0]])

    def test_iteration(self):
        found = simhash(pa.array(TEXTS))
        self.assertEqual([next(iter(found)) for _ in range(2)], FINGERPRINTS[:1] * 2)
        exhausted = iter(found)
        self.assertEqual(list(exhausted), FINGERPRINTS)
        self.assertEqual(list(exhausted), [])

    def test_chunks(self):
        for kind in TYPES:
            with self.subTest(kind):
                array = pa.array(TEXTS, kind)
                chunked = pa.chunked_array([array[:5], array[5:5], array[5:]])
                self.assertEqual(list(simhash(chunked)), FINGERPRINTS)
                self.assertEqual(list(simhash(OnlyStream(chunked))), FINGERPRINTS)
        self.assertEqual(list(simhash(pa.chunked_array([], pa.string()))), [])

    def test_nothing_but_nulls(self):
        self.assertEqual(list(simhash(pa.array([None, None]))), [None, None])
        self.assertEqual(list(simhash(pa.array([None, None], pa.string()))), [None, None])
        self.assertEqual(list(simhash(pa.array([], pa.string()))), [])

    def test_options(self):
        self.assertEqual(
            list(simhash(pa.array(["A b"]), ngram=2, case_fold=False)), [simhash("A b", ngram=2, case_fold=False)]
        )

    def test_pyarrow_reads_the_result(self):
        found = pa.array(simhash(pa.array(TEXTS)))
        found.validate(full=True)
        self.assertEqual(found.type, pa.int64())
        self.assertEqual(found.null_count, FINGERPRINTS.count(None))
        self.assertEqual(found.to_pylist(), FINGERPRINTS)
        whole = pa.array(simhash(pa.array(["one text", "another"])))
        self.assertEqual(whole.null_count, 0)
        gc.collect()
        self.assertEqual(whole.to_pylist(), simhash(["one text", "another"]))

    def test_memory_is_released(self):
        before = pa.total_allocated_bytes()
        array = pa.array(TEXTS * 1000, pa.string_view())
        simhash(array)
        simhash(pa.chunked_array([array, array]))
        with self.assertRaises(TypeError):
            pairs(array)
        del array
        gc.collect()
        self.assertEqual(pa.total_allocated_bytes(), before)

    def test_result_is_sequence(self):
        found = simhash(pa.array(["one text", None]))
        self.assertEqual(len(found), 2)
        self.assertEqual([found[0], found[-1], found[-2]], [FINGERPRINTS[0], None, FINGERPRINTS[0]])
        for index in [2, -3]:
            with self.assertRaises(IndexError):
                found[index]
        self.assertEqual(repr(found), "<pg_simhash.FingerprintArray of 2 rows, 1 without a fingerprint>")

    def test_fingerprints_of_arrow(self):
        numbers = [5, 4, None, 1023, 5]
        for column in [
            pa.array(numbers, pa.int64()),
            pa.array([9, *numbers, 9], pa.int64())[1:6],
            pa.chunked_array([numbers[:2], numbers[2:]], pa.int64()),
        ]:
            self.assertEqual(clusters(column).tolist(), [0, 0, -1, 3, 0])
        self.assertEqual(clusters(simhash(pa.array(["a", "!", "A"]))).tolist(), [0, -1, 0])

    def test_errors(self):
        for column, message in [
            (pa.array([1]), "an Arrow column of texts must be of string, large_string or string_view, not of format"),
            (pa.array(["a"]).dictionary_encode(), "an Arrow column of texts must be .*, not dictionary-encoded. Cast"),
            (pa.table({"a": ["a"]}), r'an Arrow column of texts must be .*, not of format "\+s". Pass a column, not'),
        ]:
            with self.subTest(message), self.assertRaisesRegex(TypeError, message):
                simhash(column)
        with self.assertRaisesRegex(TypeError, "an Arrow column of fingerprints must be of int64, not of format"):
            pairs(pa.array([1], pa.uint64()))

    def test_reader_of_batches(self):
        for batches in [[], [pa.record_batch({"text": ["a"]})]]:
            reader = pa.RecordBatchReader.from_batches(pa.schema({"text": pa.string()}), batches)
            with self.assertRaisesRegex(TypeError, "Pass a column, not a table.$"):
                simhash(reader)

    def test_streams_that_fail(self):
        for message, expected in [(b"disk on fire", ": disk on fire"), (None, "")]:
            for fails_late in [False, True]:
                with self.subTest((message, fails_late)):
                    with self.assertRaisesRegex(ValueError, f"^the Arrow stream has failed{expected}$"):
                        simhash(FailingStream(message, fails_late))

    def test_capsules_are_read_once(self):
        class Once:
            capsules = pa.array(["a"]).__arrow_c_array__()

            def __arrow_c_array__(self, requested_schema=None):
                return self.capsules

        once = Once()
        self.assertEqual(list(simhash(once)), [simhash("a")])
        with self.assertRaisesRegex(ValueError, "^the Arrow data has been released$"):
            simhash(once)

    def test_objects_without_capsules(self):
        class Wrong:
            def __init__(self, result):
                self.result = result

            def __arrow_c_array__(self, requested_schema=None):
                return self.result

        schema, array = pa.array(["a"]).__arrow_c_array__()
        for wrong in [None, (), (1, 2), (schema,), (array, schema)]:
            with self.subTest(wrong), self.assertRaises((TypeError, ValueError)):
                simhash(Wrong(wrong))

    def test_invalid_text(self):
        wrong = pa.Array.from_buffers(
            pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], "i4")), pa.py_buffer(b"\xff")]
        )
        with self.assertRaisesRegex(ValueError, "^a text is not valid UTF-8$"):
            simhash(wrong)


if __name__ == "__main__":
    unittest.main()
