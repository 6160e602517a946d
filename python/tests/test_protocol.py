"""Programs with `serve()`, run as a host runs them."""

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import launch
from parthack import Evaluator, PayloadError, score_file
from parthack.protocol import answer_lines

HALF = """
    from parthack import evaluator, serve

    @evaluator(name="half", version="3", deterministic=False)
    def half(payload):
        return 0.5

    serve()
"""

POSIX = os.name == "posix"


class Loop(unittest.TestCase):
    def test_a_hello_then_an_answer_a_line(self):
        done = launch.run(HALF, [launch.sample(), launch.sample()])
        self.assertEqual(
            done.hello, {"protocol": "parthack.evaluator/1", "name": "half", "version": "3", "deterministic": False}
        )
        self.assertEqual(done.answers, [{"score": 0.5}] * 2)
        self.assertEqual((done.code, done.err), (0, ""))

    def test_answers_come_before_the_input_ends(self):
        child = launch.start(HALF)
        self.addCleanup(child.communicate)
        self.assertIn("protocol", json.loads(child.stdout.readline()))
        for _ in range(3):
            child.stdin.write(b"{}\n")
            child.stdin.flush()
            self.assertEqual(json.loads(child.stdout.readline()), {"score": 0.5})

    def test_hellos_and_empty_lines_are_skipped(self):
        lines = [launch.HELLO_FROM_HOST, b"\n", b' {"version":1, "protocol" : "x"}\n', b" \r\n", {"task_id": "a"}]
        self.assertEqual(launch.run(HALF, lines).answers, [{"score": 0.5}])
        about = {"fields": {"protocol": "https"}}
        self.assertEqual(launch.run(HALF, [about]).answers, [{"score": 0.5}])

    def test_a_last_line_without_its_end_is_answered(self):
        self.assertEqual(launch.run(HALF, [b"{}"]).answers, [{"score": 0.5}])

    def test_lines_that_hold_no_payload(self):
        lines = [b"not JSON\n", b"[1]\n", b"{\n", b'{"a":"\xff"}\n', b"[" * 200000 + b"\n", b"3\n", b'{"protocol":\n', {}]
        answers = launch.run(HALF, lines).answers
        self.assertEqual(len(answers), len(lines))
        for answer in answers[:-1]:
            self.assertRegex(answer["no_verdict"], "^the payload is not ")
        self.assertEqual(answers[-1], {"score": 0.5})

    def test_errors_are_answers(self):
        done = launch.run(
            """
            import sys
            from parthack import evaluator, serve

            def deeper(depth):
                return deeper(depth + 1)

            @evaluator
            def picky(payload):
                return {
                    "type": lambda: 1 + "a",
                    "key": lambda: payload["nothing"],
                    "exit": lambda: sys.exit(3),
                    "memory": lambda: bytearray(1 << 62),
                    "depth": lambda: deeper(0),
                    "eof": lambda: input(),
                    "large": lambda: 2,
                    "nan": lambda: float("nan"),
                    "none": lambda: None,
                    "fine": lambda: 1,
                }[payload["do"]]()

            serve()
            """,
            [{"do": what} for what in "type key exit memory depth eof large nan none fine".split()],
        )
        reasons = [answer.get("no_verdict", "") for answer in done.answers]
        self.assertEqual(reasons[0], "TypeError: unsupported operand type(s) for +: 'int' and 'str'")
        self.assertEqual(reasons[1], "KeyError: 'nothing'")
        self.assertEqual(reasons[2], "SystemExit: 3")
        self.assertRegex(reasons[3], "^(MemoryError|OverflowError)")
        self.assertRegex(reasons[4], "^RecursionError")
        self.assertEqual(reasons[5], "EOFError: EOF when reading a line")
        self.assertRegex(reasons[6], "outside")
        self.assertRegex(reasons[7], "nan")
        self.assertRegex(reasons[8], "returned None")
        self.assertEqual(done.answers[9], {"score": 1.0, "exact": "1"})
        self.assertEqual(done.code, 0)
        self.assertIn("Traceback", done.err)
        self.assertIn("my_eval.py", done.err)
        self.assertNotIn("declaration.py", done.err)

    def test_talk_goes_to_stderr(self):
        done = launch.run(
            """
            import os, subprocess, sys
            print("before")
            from parthack import evaluator, serve

            @evaluator
            def loud(payload):
                print("printed é")
                sys.stdout.buffer.write(b"by the buffer\\n")
                sys.stdout.flush()
                os.write(1, b"by the descriptor\\n")
                sys.__stdout__.write("by the first stdout\\n")
                sys.__stdout__.flush()
                subprocess.run([sys.executable, "-c", "print('by a child')"])
                return 0.5

            serve()
            print("after")
            """,
            [{}, {}],
        )
        self.assertEqual(done.answers, [{"score": 0.5}] * 2)
        for words in (
            "before",
            "printed é",
            "by the buffer",
            "by the descriptor",
            "by the first stdout",
            "by a child",
            "after",
        ):
            self.assertIn(words, done.err)

    def test_the_locale_does_not_matter(self):
        source = """
            from parthack import evaluator, serve, NoVerdict

            @evaluator
            def echo(payload):
                print(payload["text"])
                return NoVerdict(payload["text"])

            serve()
        """
        text = "Lärche – 木 \U0001f332 \u2028"
        for more in ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}):
            line = json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n"
            done = launch.run(source, [line], environment_more=more)
            self.assertEqual(done.answers, [{"no_verdict": text}])
            self.assertIn("Lärche – 木", done.err)

    def test_long_lines(self):
        long = {"text": "x" * 5_000_000}
        self.assertEqual(launch.run(HALF, [long, long]).answers, [{"score": 0.5}] * 2)

    def test_async_functions(self):
        done = launch.run(
            """
            import asyncio
            from parthack import evaluator, serve

            @evaluator
            async def slow(payload):
                await asyncio.sleep(0.001)
                if "fail" in payload:
                    raise ValueError("no")
                return 0.25

            serve()
            """,
            [{}, {"fail": 1}, {}],
        )
        self.assertEqual(done.answers, [{"score": 0.25}, {"no_verdict": "ValueError: no"}, {"score": 0.25}])

    def test_exactly_one_evaluator(self):
        done = launch.run("from parthack import serve\nserve()\n")
        self.assertEqual((done.code, done.out), (1, b""))
        self.assertIn("DeclarationError: no evaluator is declared: put @evaluator", done.err)
        two = """
            from parthack import evaluator, serve

            @evaluator
            def one(payload):
                return 1

            @evaluator
            def two(payload):
                return 0

            serve({})
        """
        done = launch.run(two.format(""))
        self.assertEqual((done.code, done.out), (1, b""))
        self.assertIn("2 evaluators are declared: one (__main__), two (__main__)", done.err)
        done = launch.run(two.format("two"), [{}])
        self.assertEqual((done.hello["name"], done.answers), ("two", [{"score": 0.0, "exact": "0"}]))
        done = launch.run("from parthack import serve\ndef third(payload): return 1\nserve(third)\n", [{}])
        self.assertEqual((done.hello["name"], done.answers), ("third", [{"score": 1.0, "exact": "1"}]))


def hears_control_c():
    """A shell starts what it runs in the background with this signal ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@unittest.skipUnless(POSIX, "needs POSIX")
class Ends(unittest.TestCase):
    def test_a_host_that_stops_reading(self):
        child = launch.start(HALF)
        child.stdout.readline()
        child.stdout.close()
        child.stdin.write(b"{}\n" * 3)
        child.stdin.close()
        self.assertEqual((child.wait(60), child.stderr.read()), (0, b""))
        child.stderr.close()

    def test_a_host_that_never_reads(self):
        reader, writer = os.pipe()
        os.close(reader)
        child = launch.start(HALF, stdout=writer, stdin=subprocess.DEVNULL)
        os.close(writer)
        self.assertEqual((child.wait(60), child.stderr.read()), (0, b""))
        child.stderr.close()

    def test_control_c(self):
        waits = HALF.replace("return 0.5", "import os, time; os.write(2, b'in\\n'); time.sleep(60)")
        for source, payload in ((HALF, b""), (waits, b"{}\n")):
            child = launch.start(source, preexec_fn=hears_control_c)
            child.stdout.readline()
            child.stdin.write(payload)
            child.stdin.flush()
            if payload:  # The function tells that it is in.
                self.assertEqual(child.stderr.read(3), b"in\n")
            child.send_signal(signal.SIGINT)
            self.assertEqual((child.wait(60), child.stdout.read(), child.stderr.read()), (130, b"", b""))
            for pipe in (child.stdin, child.stdout, child.stderr):
                pipe.close()

    def test_an_error_of_a_pipe_of_the_function_is_the_functions(self):
        source = HALF.replace("return 0.5", "raise BrokenPipeError('mine')")
        self.assertEqual(launch.run(source, [{}, {}]).answers, [{"no_verdict": "BrokenPipeError: mine"}] * 2)


@unittest.skipUnless(POSIX, "needs POSIX")
class Confined(unittest.TestCase):
    loud = HALF.replace("return 0.5", "import os; print('x' * 100000); os.write(2, b'y'); return 0.5")

    def test_no_environment_and_nothing_to_write(self):
        import resource

        def confine():
            os.chdir("/")
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        source = HALF.replace("return 0.5", "print('x'); return 1 / 0 if 'bad' in payload else 0.5")
        done = launch.run(source, [{}, {"bad": 1}], interpreter=("-s", "-B"), preexec_fn=confine)
        self.assertEqual(done.answers, [{"score": 0.5}, {"no_verdict": "ZeroDivisionError: division by zero"}])

    def test_stderr_that_nobody_reads(self):
        child = launch.start(self.loud)
        child.stderr.close()
        child.stderr = None
        out, _ = child.communicate(b"{}\n{}\n", timeout=60)
        self.assertEqual(out.count(b"no_verdict"), 2, "os.write itself tells the function that nobody reads")
        quiet = self.loud.replace("os.write(2, b'y'); ", "")
        child = launch.start(quiet)
        child.stderr.close()
        child.stderr = None
        out, _ = child.communicate(b"{}\n{}\n", timeout=60)
        self.assertEqual((out.splitlines()[1:], child.returncode), ([b'{"score":0.5}'] * 2, 0))

    def test_closed_descriptors(self):
        opens = HALF.replace(
            "return 0.5",
            "import os, tempfile; f = tempfile.TemporaryFile(); print('talk'); os.write(1, b'') ; "
            "f.seek(0); return 0.5 if f.read() == b'' and f.fileno() > 2 else 0",
        )

        def without(descriptor):
            return lambda: os.close(descriptor)

        done = launch.run(opens, [{}], preexec_fn=without(2))
        self.assertEqual((done.answers, done.code), ([{"score": 0.5}], 0))
        done = launch.run(opens, [], preexec_fn=without(0))
        self.assertEqual((done.answers, done.code), ([], 0))
        done = launch.run(opens, [{}], preexec_fn=without(1))
        self.assertEqual((done.out, done.err, done.code), (b"", "", 0))

    def test_coroutines_without_sockets(self):
        done = launch.run(
            """
            import asyncio, socket, time
            from parthack import evaluator, serve

            def refused(*arguments, **more):
                raise PermissionError(13, "Permission denied")

            socket.socketpair = refused

            async def part(value):
                await asyncio.sleep(0.001)
                return value

            @evaluator
            async def several(payload):
                if "hang" in payload:
                    await asyncio.get_running_loop().create_future()
                if "thread" in payload:
                    return await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.01) or 1
                parts = await asyncio.wait_for(asyncio.gather(part(0.25), part(0.5)), 5)
                return sum(parts)

            serve()
            """,
            [{}, {"hang": 1}, {}, {"thread": 1}],
        )
        self.assertEqual(done.answers[0], {"score": 0.75}, done.err)
        self.assertEqual(done.answers[3], {"score": 1.0, "exact": "1"}, done.err)
        self.assertNotIn("ignored", done.err)
        self.assertIn("no sockets", done.answers[1]["no_verdict"])
        self.assertEqual(done.answers[2], {"score": 0.75})


class OnePayload(unittest.TestCase):
    source = HALF.replace("return 0.5", "print('talk'); return payload.get('value')")

    def check(self, text, code, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "payload.json")
            with open(path, "wb") as file:
                file.write(text)
            return self.with_code(code, *(argument.replace("FILE", path) for argument in arguments))

    def with_code(self, code, *arguments):
        done = launch.run(self.source, (), *arguments)
        self.assertEqual(done.code, code, done.err)
        return done

    def test_a_file(self):
        done = self.check(b'{\n "value": 0.5\n}\n', 0, "--payload", "FILE")
        self.assertEqual((done.out, done.err), (b'{"score":0.5}\n', "talk\n"))
        done = self.check(b'{"value": 0.5}', 0, "--mine", "--payload=FILE", "7")
        self.assertEqual(done.out, b'{"score":0.5}\n')

    def test_no_verdict(self):
        done = self.check(b'{"value": 3}', 1, "--payload", "FILE")
        self.assertIn(b"outside [0, 1]", done.out)

    def test_no_payload(self):
        for text, word in ((b"not JSON", "not JSON"), (b"[]", "not a JSON object"), (b"\xff", "not JSON")):
            done = self.check(text, 3, "--payload", "FILE")
            self.assertEqual(done.out, b"")
            self.assertRegex(done.err, "^error: .*payload.json: .*{}".format(word))
            self.assertIn("\nhint: ", done.err)
        done = self.with_code(3, "--payload", os.path.join(tempfile.gettempdir(), "no", "such"))
        self.assertIn("such: ", done.err)

    def test_usage(self):
        for arguments in (("--payload",), ("--payload=",), ("--payload", "a", "--payload", "b")):
            done = self.with_code(2, *arguments)
            self.assertEqual((done.out, done.err), (b"", "error: --payload takes one file, once\n"))

    def test_score_file(self):
        def value(payload):
            print("talk")
            return payload["value"]

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "payload.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write('{"value": 0.25}')
            output, errors = io.StringIO(), io.StringIO()
            kept = sys.stdout, sys.stderr
            sys.stdout, sys.stderr = output, errors
            try:
                answer = score_file(path, value)
            finally:
                sys.stdout, sys.stderr = kept
        self.assertEqual(answer, {"score": 0.25})
        self.assertEqual((output.getvalue(), errors.getvalue()), ('{"score":0.25}\n', "talk\n"))
        with self.assertRaisesRegex(PayloadError, "nothing: "):
            score_file("nothing", value)


class Streams(unittest.TestCase):
    def test_the_loop_over_any_streams(self):
        out = io.BytesIO()
        answer_lines(Evaluator(lambda payload: 1, None, "0", True), io.BytesIO(b"{}\n{}\n"), out)
        self.assertEqual(out.getvalue().splitlines()[1:], [b'{"score":1.0,"exact":"1"}'] * 2)

    def test_short_writes(self):
        class Narrow(io.RawIOBase):
            def __init__(self):
                self.taken = b""

            def write(self, data):
                self.taken += bytes(data[:3])
                return min(3, len(data))

        out = Narrow()
        answer_lines(Evaluator(lambda payload: 1, None, "0", True), io.BytesIO(b"{}\n"), out)
        self.assertEqual(out.taken.splitlines()[1:], [b'{"score":1.0,"exact":"1"}'])


if __name__ == "__main__":
    unittest.main()
