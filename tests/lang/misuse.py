"""What cannot be meant does not compile: it is never dropped in silence. Each piece is tried by
every compiler there is, beside a right one that differs only there."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tap import Tap  # noqa: E402

HEAD = "#include <yieldpoint/yieldpoint.h>\n"
BODY = "\n{\n}\n"


def numbers(count):
    return ", ".join(str(n) for n in range(1, count + 1))


def declaration(options):
    return f"YP_TEST(misuse, one, {options}){BODY}"


def relation(options):
    return f"YP_RELATION(misuse, one, {options});\n"


def in_body(statement):
    return f"YP_TEST(misuse, one)\n{{\n    {statement}\n}}\n"


def case_with(parameters):
    return 'yp_case_of("a", .set = YP_SET(%s))' % ", ".join(
        f'yp_set_int("n{n}", {n})' for n in range(parameters))


GIVES = """static enum yp_status gives(struct yp_axis_values *values, const void *arg)
{
    (void)values, (void)arg;
    return YP_OK;
}
"""
HOLDS = """static void hold(const struct yp_case *c, struct yp_budgets *out)
{
    yp_budget_add(out, yp_min_share("a", yp_case_name(c)[0] == 's' ? 0.25 : 0.5),
                  yp_max_peak(YP_HOST, 16 * yp_int(c, "n")));
}
"""
ARRAY = "static const long long list[] = {1, 2};\n"
AXIS = 'yp_axis_int("n%d", 1)'
# name: (a right one, a wrong one)
PIECES = {
    "int values": (declaration(f'.axes = YP_AXES(yp_axis_int("n", {numbers(32)}))'),
                   declaration(f'.axes = YP_AXES(yp_axis_int("n", {numbers(32)}, 5))')),
    "many int values": (declaration(f'.axes = YP_AXES(yp_axis_int("n", {numbers(31)}))'),
                        declaration(f'.axes = YP_AXES(yp_axis_int("n", {numbers(70)}))')),
    "double values": (declaration(f'.axes = YP_AXES(yp_axis_double("n", {numbers(32)}))'),
                      declaration(f'.axes = YP_AXES(yp_axis_double("n", {numbers(33)}))')),
    "string values": (
        declaration('.axes = YP_AXES(yp_axis_string("n", %s))' % ", ".join(['"a"'] * 32)),
        declaration('.axes = YP_AXES(yp_axis_string("n", %s))' % ", ".join(['"a"'] * 33))),
    "axes": (declaration(".axes = YP_AXES(%s)" % ", ".join(AXIS % n for n in range(8))),
             declaration(".axes = YP_AXES(%s)" % ", ".join(AXIS % n for n in range(9)))),
    "cases": (declaration(".cases = YP_CASES(%s)" % ", ".join(['yp_case_of("a")'] * 32)),
              declaration(".cases = YP_CASES(%s)" % ", ".join(['yp_case_of("a")'] * 33))),
    "bounds": (in_body('yp_measure (t, "a", .bounds = YP_WORK(%s)) yp_keep(t);' %
                       ", ".join(["yp_work(YP_FP32, 1)"] * 8)),
               in_body('yp_measure (t, "a", .bounds = YP_WORK(%s)) yp_keep(t);' %
                       ", ".join(["yp_work(YP_FP32, 1)"] * 9))),
    "budgets": (declaration(".budgets = YP_BUDGETS(%s)" % ", ".join(['yp_min_rate("a", 1)'] * 32)),
                declaration(".budgets = YP_BUDGETS(%s)" %
                            ", ".join(['yp_min_rate("a", 1)'] * 33))),
    "a budget added to what is no list of budgets":
        (HOLDS + declaration(".budgets_of = hold"),
         HOLDS.replace("struct yp_budgets", "struct yp_case") + declaration(".budgets_of = hold")),
    "a requirement without a reason":
        (declaration('.budgets = YP_BUDGETS(yp_required(yp_max_latency("a", 1), "why"))'),
         declaration('.budgets = YP_BUDGETS(yp_required(yp_max_latency("a", 1)))')),
    "parameters": (declaration(f".cases = YP_CASES({case_with(12)})"),
                   declaration(f".cases = YP_CASES({case_with(13)})")),
    "text in a parameter of whole numbers":
        (declaration('.cases = YP_CASES(yp_case_of("a", .set = YP_SET(yp_set_int("n", 1))))'),
         declaration('.cases = YP_CASES(yp_case_of("a", .set = YP_SET(yp_set_int("n", "1"))))')),
    "an axis whose function is none":
        (GIVES + declaration('.axes = YP_AXES(yp_axis_from("n", gives, NULL))'),
         GIVES.replace("yp_axis_values", "yp_case") +
         declaration('.axes = YP_AXES(yp_axis_from("n", gives, NULL))')),
    "values of a pointer, which has no number of them":
        (ARRAY + declaration('.axes = YP_AXES(yp_axis_int_of("n", list))'),
         ARRAY.replace("list[] = {1, 2}", "*const list = 0") +
         declaration('.axes = YP_AXES(yp_axis_int_of("n", list))')),
    "an array of another kind":
        (ARRAY + declaration('.axes = YP_AXES(yp_axis_int_of("n", list))'),
         ARRAY + declaration('.axes = YP_AXES(yp_axis_double_of("n", list))')),
    "a range without a step": (declaration('.axes = YP_AXES(yp_axis_range("n", 1, 9, 2))'),
                               declaration('.axes = YP_AXES(yp_axis_range("n", 1, 9))')),
    "a fraction in a range": (declaration('.axes = YP_AXES(yp_axis_geometric("n", 1, 9, 2))'),
                              declaration('.axes = YP_AXES(yp_axis_geometric("n", 1, 9, 1.5))')),
    "field of a test": (declaration(".timeout = 1"), declaration(".timeuot = 1")),
    "field of a case": (declaration('.cases = YP_CASES(yp_case_of("a", .timeout = 1))'),
                        declaration('.cases = YP_CASES(yp_case_of("a", .timeuot = 1))')),
    "field of a measurement": (in_body('yp_measure(t, "a", .samples = 1) { }'),
                               in_body('yp_measure(t, "a", .sample = 1) { }')),
    "field of a load": (in_body('yp_serve(t, "a", .rate = 1, .requests = 1) { }'),
                        in_body('yp_serve(t, "a", .rate = 1, .request = 1) { }')),
    "field of a command": ('YP_COMMAND(misuse, one, .command = "true");\n',
                           'YP_COMMAND(misuse, one, .comand = "true");\n'),
    "field of a relation": (relation('.relation = yp_growth("a.c::t", "m", "n")'),
                            relation('.relations = yp_growth("a.c::t", "m", "n")')),
    "a growth without an axis": (relation('.relation = yp_growth("a.c::t", "m", "n")'),
                                 relation('.relation = yp_growth("a.c::t", "m")')),
    "a ratio over an axis of numbers":
        (relation('.relation = yp_ratio_over("a.c::t", "m", "n", "1", "2")'),
         relation('.relation = yp_ratio_over("a.c::t", "m", "n", 1, 2)')),
    "two relations of one name": (relation('.relation = yp_same_hash("a.c::t", "a.c::u")'),
                                  relation('.relation = yp_same_hash("a.c::t", "a.c::u")') * 2),
    "a percentile without a limit":
        (declaration('.budgets = YP_BUDGETS(yp_max_percentile("a", 99, 1))'),
         declaration('.budgets = YP_BUDGETS(yp_max_percentile("a", 99))')),
    "a counter that is no counter":
        (declaration('.budgets = YP_BUDGETS(yp_max_count("a", YP_CYCLES, 1))'),
         declaration('.budgets = YP_BUDGETS(yp_max_count("a", YP_CYCLE, 1))')),
    "an axis without values": (declaration('.axes = YP_AXES(yp_axis_int("n", 1))'),
                               declaration('.axes = YP_AXES(yp_axis_int("n"))')),
    "text in an axis of numbers": (declaration('.axes = YP_AXES(yp_axis_int("n", 1))'),
                                   declaration('.axes = YP_AXES(yp_axis_int("n", "one"))')),
    "a fraction in an axis of whole numbers":
        (declaration('.axes = YP_AXES(yp_axis_int("n", 1))'),
         declaration('.axes = YP_AXES(yp_axis_int("n", 1.5))')),
    "two tests of one name": (declaration(".timeout = 1"),
                              declaration(".timeout = 1") + declaration(".timeout = 1")),
    "a message's arguments": (in_body('yp_expect(t, 1 > 0, "is %d", 1);'),
                              in_body('yp_expect(t, 1 > 0, "is %d", "one");')),
    "an expectation without a message": (in_body('yp_expect(t, 1 > 0, "why");'),
                                         in_body("yp_expect(t, 1 > 0);")),
    "a setup of another kind": (
        "static void up(struct yp_case *t)\n{\n    (void)t;\n}\n" + declaration(".setup = up"),
        "static int up(int t)\n{\n    return t;\n}\n" + declaration(".setup = up")),
}
TYPED = "YP_TEST_TYPES(misuse, one, %s)\n{\n    yp_keep(sizeof(T));\n}\n"
NAME = "template <class A, class B> struct two {\n};\nYP_TYPE_NAME(%s, two<int, char>);\n" + TYPED % "(two<int, char>)"
CPP_PIECES = {
    "types": (TYPED % "(int, double)", TYPED % "(int, no_such)"),
    "a list without its brackets": (TYPED % "(int)", TYPED % "int"),
    "a list of nothing": (TYPED % "(int)", TYPED % "()"),
    "text that cannot be split": ("template <bool B> struct is {\n};\n" + "using holds = is<1 < 2>;\n" + TYPED % "(holds, int)",
                                  "template <bool B> struct is {\n};\n" + TYPED % "(is<1 < 2>, int)"),
    "a type's name that is no text": (NAME % '"two"', NAME % "2"),
    "a body that a type does not have": ("YP_TEST_TYPES(misuse, one, (int, char))\n{\n    yp_keep(T(1) << 1);\n}\n",
                                         "YP_TEST_TYPES(misuse, one, (int, float))\n{\n    yp_keep(T(1) << 1);\n}\n"),
}
# Those whose wrong one is an error even where no warning is one.
ALWAYS = {"values of a pointer, which has no number of them", "a range without a step", "int values", "many int values", "double values", "string values", "axes", "cases",
          "budgets", "parameters", "field of a test", "field of a case", "field of a measurement",
          "field of a load", "field of a command", "field of a relation",
          "a growth without an axis", "two relations of one name", "a percentile without a limit",
          "a counter that is no counter", "an axis without values", "two tests of one name", "an expectation without a message"}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]


def compiles(command, suffix, text, folder):
    source = os.path.join(folder, "piece" + suffix)
    with open(source, "w") as file:
        file.write(HEAD + text)
    done = subprocess.run([*command, "-fsyntax-only", source], capture_output=True, text=True)
    return done.returncode == 0, done.stderr


def precompiled(command, language, folder):
    """The options that take the header's declarations from a file: for C++ they take the time of hundreds of pieces."""
    with open(os.path.join(folder, "head.h"), "w") as file:
        file.write(HEAD)
    made = os.path.join(folder, "head.h.gch")
    subprocess.run([*command, *WARNINGS, "-x", language + "-header", os.path.join(folder, "head.h"), "-o", made], check=True)
    kind = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    return ["-include-pch", made] if "clang" in kind else ["-include", os.path.join(folder, "head.h")]


def main(include, *configured):
    tap = Tap()
    c_flags = ["-std=c17", "-D_GNU_SOURCE", f"-I{include}"]
    cpp_flags = ["-std=c++20", f"-I{include}"]
    compilers = {"the configured compiler": ([*configured, *c_flags], ".c")}
    for name, flags, suffix in (("gcc", c_flags, ".c"), ("clang", c_flags, ".c"),
                                ("g++", cpp_flags, ".cpp"), ("clang++", cpp_flags, ".cpp")):
        if shutil.which(name) is not None:
            compilers[name] = ([name, *flags], suffix)
    with tempfile.TemporaryDirectory() as folder:
        for compiler, (command, suffix) in compilers.items():
            command = [*command, *precompiled(command, {".c": "c", ".cpp": "c++"}[suffix], folder)]
            pieces = {**PIECES, **(CPP_PIECES if suffix == ".cpp" else {})}
            for name, (right, wrong) in pieces.items():
                good, why = compiles([*command, *WARNINGS], suffix, right, folder)
                tap.check(good, f"{compiler}: {name}: a right one compiles", f"{right}\n{why}")
                warned = [] if name in ALWAYS or name in CPP_PIECES else WARNINGS
                bad, _ = compiles([*command, *warned], suffix, wrong, folder)
                tap.check(not bad, f"{compiler}: {name}: a wrong one does not", wrong)
    tap.done()


main(*sys.argv[1:])
