"""Each construct of the grammar as a tree, and where a text that is none goes wrong."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from estimica.base.errors import SourceError
from estimica.source.syntax import tree
from estimica.source.syntax.file import parse_expression, parse_file, parse_modification


def written(node: object) -> str:
    """A tree with all brackets written out, by a way of writing that knows no precedence."""
    match node:
        case None:
            return ""
        case tree.Number(value, whole):
            return str(int(value)) if whole else repr(value)
        case tree.Text(value):
            return repr(value)
        case tree.Truth(value):
            return str(value).lower()
        case tree.Part(name, subscripts):
            return name + (f"[{listed(subscripts)}]" if subscripts else "")
        case tree.Reference(parts, _, from_root):
            return "." * from_root + ".".join(map(written, parts))
        case tree.Call(function, arguments, named, _, iterators):
            given = [*map(written, arguments), *(f"{n}={written(v)}" for n, v in named)]
            loop = f" for {listed(iterators)}" if iterators else ""
            return f"{written(function)}({', '.join(given)}{loop})"
        case tree.PartialCall(function, named):
            given = [f"{n}={written(v)}" for n, v in named]
            return f"function {written(function)}({', '.join(given)})"
        case tree.Iterator(name, values):
            return f"{name} in {written(values)}" if values is not None else name
        case tree.Binary(op, left, right):
            return f"({written(left)} {op} {written(right)})"
        case tree.Unary(op, operand):
            return f"({op} {written(operand)})"
        case tree.IfExpression(branches, otherwise):
            tests = "".join(f"{written(c)} ? {written(v)} : " for c, v in branches)
            return f"({tests}{written(otherwise)})"
        case tree.Range(first, step, last):
            inner = f":{written(step)}" if step is not None else ""
            return f"({written(first)}{inner}:{written(last)})"
        case tree.ArrayOf(elements, _, iterators):
            loop = f" for {listed(iterators)}" if iterators else ""
            return f"{{{listed(elements)}{loop}}}"
        case tree.Matrix(rows):
            return f"[{'; '.join(map(listed, rows))}]"
        case tree.Several(elements):
            return f"<{listed(elements)}>"
        case tree.Indexed(base, subscripts):
            return f"{written(base)}@[{listed(subscripts)}]"
        case tree.Field(base, name):
            return f"{written(base)}@{name}"
        case tree.End():
            return "end"
        case tree.Colon():
            return ":"
    raise AssertionError(node)


def listed(nodes: tuple[object, ...]) -> str:
    return ", ".join(map(written, nodes))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", "1"),
        ("1.", "1.0"),
        ("1.5e-3", "0.0015"),
        ("2E2", "200.0"),
        (r'"a\n\"b\" \\ \q"', repr('a\n"b" \\ q')),
        ("true and not false", "(true and (not false))"),
        ("a + b - c", "((a + b) - c)"),
        ("a / b * c", "((a / b) * c)"),
        ("a - b * c ^ d", "(a - (b * (c ^ d)))"),
        ("-a * b", "(- (a * b))"),
        ("-a + b", "((- a) + b)"),
        ("-2 ^ 2", "(- (2 ^ 2))"),
        ("a * -b", "(a * (- b))"),
        ("a * -b * c", "((a * (- b)) * c)"),
        ("2 ^ -1 * x", "((2 ^ (- 1)) * x)"),
        ("a .* b ./ c .^ d", "((a .* b) ./ (c .^ d))"),
        ("a .+ b .- c", "((a .+ b) .- c)"),
        ("a or b and c or d", "((a or (b and c)) or d)"),
        ("not a == b and c", "((not (a == b)) and c)"),
        ("a + 1 <= b * 2", "((a + 1) <= (b * 2))"),
        ("a <> b", "(a <> b)"),
        ("a : b + 1", "(a:(b + 1))"),
        ("a : 2 : c", "(a:2:c)"),
        ("if a then b elseif c then d else e + 1", "(a ? b : c ? d : (e + 1))"),
        ("(a + b) * c", "((a + b) * c)"),
        (".Modelica.Constants.pi", ".Modelica.Constants.pi"),
        ("a[1].b[2, :].c[end - 1, 2:3]", "a[1].b[2, :].c[(end - 1), (2:3)]"),
        ("'a b'.'c.d'", "'a b'.'c.d'"),
        ("der(x) + pre(y) + initial()", "((der(x) + pre(y)) + initial())"),
        ("f(1, x, a = 2, b = {1})", "f(1, x, a=2, b={1})"),
        ("f(a = function g.h(b = 1), c = 2)", "f(a=function g.h(b=1), c=2)"),
        ("f(function .g())", "f(function .g())"),
        ("sum(x[i] * j for i in 1:3, j in 1:2)", "sum((x[i] * j) for i in (1:3), j in (1:2))"),
        ("{x[i] for i}", "{x[i] for i}"),
        ("{{1, 2}, {}}", "{{1, 2}, {}}"),
        ("[a, b; c, d]", "[a, b; c, d]"),
        ("(a, , b)", "<a, , b>"),
        ("(a + b)[2]", "(a + b)@[2]"),
        ("f(x).y[2].z", "f(x)@y@[2]@z"),
        ("pure(f(x))", "pure(f(x))"),
        ("a // a comment\n + /* another + */ b", "(a + b)"),
    ],
)
def test_expressions(text: str, expected: str) -> None:
    assert written(parse_expression(text)) == expected


def test_every_node_knows_where_it_starts() -> None:
    text = "a.b + f( c [ 1 ] , 2 ) * -d"
    total = parse_expression(text)
    assert isinstance(total, tree.Binary)
    assert total.at == 0
    product = total.right
    assert isinstance(product, tree.Binary)
    assert isinstance(product.left, tree.Call)
    assert isinstance(product.right, tree.Unary)
    assert text[product.at :].startswith("f(")
    assert text[product.left.arguments[0].at :].startswith("c [")
    assert text[product.right.operand.at :] == "d"


def refusal(read: Callable[[], object]) -> str:
    """What is said of a text, "" where it is read."""
    try:
        read()
    except SourceError as error:
        return str(error)
    return ""


def the_class(text: str) -> tree.ClassDefinition:
    (found,) = parse_file(tree.Source(text)).classes
    return found


def the_body(text: str) -> tree.Body:
    body = the_class(f"model M\n{text}\nend M;").body
    assert body is not None
    return body


def test_files() -> None:
    file = parse_file(tree.Source("within A.B; final model M end M; function f = g;"))
    assert file.within == ("A", "B")
    assert [(c.name, c.word, c.prefixes.final) for c in file.classes] == [
        ("M", "model", True),
        ("f", "function", False),
    ]
    assert parse_file(tree.Source("within; package P end P;")).within == ()
    assert parse_file(tree.Source("\ufeff// nothing")).classes == ()
    assert the_class("model M end M").name == "M"  # the last semicolon is forgiven


@pytest.mark.parametrize(
    ("head", "word"),
    [
        ("class", "class"),
        ("block", "block"),
        ("record", "record"),
        ("operator record", "operator record"),
        ("connector", "connector"),
        ("expandable connector", "expandable connector"),
        ("type", "type"),
        ("package", "package"),
        ("function", "function"),
        ("operator function", "operator function"),
        ("operator", "operator"),
    ],
)
def test_kinds_of_classes(head: str, word: str) -> None:
    found = the_class(f'encapsulated partial {head} A "what" + " it is" end A;')
    assert (found.word, found.partial, found.encapsulated) == (word, True, True)
    assert found.description == "what it is"
    assert found.body is found.body


def test_pure_and_impure_functions() -> None:
    assert the_class("pure function f end f;").pure is True
    assert the_class("impure function f end f;").pure is False
    assert the_class("function f end f;").pure is None


def test_short_classes() -> None:
    found = the_class('type A = input Real[3](unit = "m") "text" annotation(Evaluate = true);')
    assert found.body is None
    assert found.short is not None
    assert (found.short.type.text, found.short.prefix) == ("Real", "input")
    assert listed(found.short.dimensions) == "3"
    assert found.description == "text"
    assert found.annotation is not None
    (evaluate,) = found.annotation.read().arguments
    assert isinstance(evaluate, tree.Modifier)
    assert evaluate.path == ("Evaluate",)


def test_enumerations_and_derivatives() -> None:
    found = the_class('type E = enumeration(a "first", b annotation(x = 1), \'c d\') "all";')
    assert found.literals == (("a", "first"), ("b", ""), ("'c d'", ""))
    assert the_class("type E = enumeration(:);").open_enumeration
    function = the_class("function f = der(A.g, x, y);")
    assert function.derivative is not None
    assert (function.derivative[0].text, function.derivative[1]) == ("A.g", ("x", "y"))


def test_a_class_that_extends_itself() -> None:
    body = the_body('redeclare model extends A(x = 1) "more" Real y; end A;')
    (inner,) = body.classes
    assert inner.extends_itself
    assert inner.prefixes.redeclare
    assert inner.modification is not None
    assert inner.body is not None
    assert [c.name for c in inner.body.components] == ["y"]


def test_components() -> None:
    body = the_body(
        """
        parameter Real a = 1 "first", b[2](each start = 3) = {1, 2};
        flow SI.Current i;
        replaceable inner outer input .A.B[3] u[2] if a > 0 annotation(x = 1);
        protected
          final constant Integer n(min = 1) = 2;
          discrete output Boolean q := false;
        public
          replaceable C c constrainedby D(k = 1) "kept" annotation(choicesAllMatching = true);
        """
    )
    a, b, i, u, n, q, c = body.components
    assert [x.name for x in body.components] == ["a", "b", "i", "u", "n", "q", "c"]
    assert (a.variability, a.description, b.variability) == ("parameter", "first", "parameter")
    assert a.modification is not None
    assert written(a.modification.value) == "1"
    assert b.modification is not None
    (start,) = b.modification.arguments
    assert isinstance(start, tree.Modifier)
    assert start.each
    assert written(b.modification.value) == "{1, 2}"
    assert (i.connection, i.type.text) == ("flow", "SI.Current")
    assert (u.causality, listed(u.dimensions), written(u.condition)) == ("input", "2, 3", "(a > 0)")
    assert (u.type.text, u.type.from_root) == ("A.B", True)
    assert u.prefixes.inner
    assert u.prefixes.outer
    assert u.prefixes.replaceable
    assert (n.prefixes.protected, n.prefixes.final, n.variability) == (True, True, "constant")
    assert (q.prefixes.protected, q.variability, q.causality) == (True, "discrete", "output")
    assert not c.prefixes.protected
    assert c.constraint is not None
    assert (c.constraint.type.text, c.description) == ("D", "kept")
    assert c.annotation is not None


def test_extends_and_imports() -> None:
    body = the_body(
        """
        import A.B.C; import X = A.B; import A.*; import A.{B, C}; import .A.D "text";
        extends P(x(start = 1), redeclare model Q = R, break p, break connect(a, b[1]));
        protected extends .S annotation(x = 1);
        """
    )
    assert [(i.name, i.path) for i in body.imports] == [
        ("C", ("A", "B", "C")),
        ("X", ("A", "B")),
        ("*", ("A",)),
        ("B", ("A", "B")),
        ("C", ("A", "C")),
        ("D", ("A", "D")),
    ]
    first, second = body.extends
    assert (first.protected, second.protected) == (False, True)
    assert second.type.from_root
    assert first.modification is not None
    _, redeclared, gone, unconnected = first.modification.arguments
    assert isinstance(redeclared, tree.Redeclaration)
    assert isinstance(redeclared.element, tree.ClassDefinition)
    assert redeclared.element.prefixes.redeclare
    assert isinstance(gone, tree.Break)
    assert gone.name == "p"
    assert isinstance(unconnected, tree.Break)
    assert unconnected.connect is not None
    assert written(unconnected.connect.right) == "b[1]"


def test_modifications() -> None:
    found = parse_modification(
        '(each final a.b(start = 1) = 2 "why", redeclare replaceable A b[2](c = 1) = d'
        " constrainedby E, replaceable package F = G, redeclare each final B e, x = break) = 5"
    )
    assert written(found.value) == "5"
    a, b, f, e, x = found.arguments
    assert isinstance(a, tree.Modifier)
    assert (a.path, a.each, a.final, a.description) == (("a", "b"), True, True, "why")
    assert isinstance(b, tree.Redeclaration)
    assert isinstance(b.element, tree.Component)
    assert (b.element.prefixes.redeclare, b.element.prefixes.replaceable) == (True, True)
    assert b.element.constraint is not None
    assert isinstance(f, tree.Redeclaration)
    assert not f.element.prefixes.redeclare
    assert f.element.prefixes.replaceable
    assert isinstance(e, tree.Redeclaration)
    assert (e.each, e.final, e.element.prefixes.redeclare) == (True, True, True)
    assert isinstance(x, tree.Modifier)
    assert x.modification.removed


def test_equations() -> None:
    text = """
        equation
          a = b "text" annotation(x = 1);
          (c, , d) = f(e);
          connect(a.b[1], c.d) annotation(Line(points = {{1, 2}}));
          assert(a > 0, "no" + "thing");
          if a then b = 1; elseif c then else d = 2; e = 3; end if;
          for i in 1:3, j loop x[i] = j; end for;
          when {initial(), a} then reinit(x, 1); elsewhen b then y = pre(y); end when;
        initial equation
          der(x) = 0;
        initial algorithm
          x := 1;
        equation
          initial();
    """
    sections = the_body(text).sections
    assert [(s.algorithm, s.initial) for s in sections] == [
        (False, False),
        (False, True),
        (True, True),
        (False, False),
    ]
    same, several, link, call, choice, loop, when = sections[0].body
    whole = f"model M\n{text}\nend M;"
    assert isinstance(same, tree.Equality)
    assert whole[same.at : same.end] == "a = b"
    assert isinstance(several, tree.Equality)
    assert written(several.left) == "<c, , d>"
    assert isinstance(link, tree.Connect)
    assert whole[link.at : link.end] == "connect(a.b[1], c.d)"
    assert isinstance(call, tree.CallEquation)
    assert isinstance(choice, tree.If)
    assert [(written(c), len(b)) for c, b in choice.branches] == [("a", 1), ("c", 0), ("", 2)]
    assert whole[choice.at : choice.end].endswith("end if")
    assert isinstance(loop, tree.For)
    assert [i.name for i in loop.iterators] == ["i", "j"]
    assert isinstance(when, tree.When)
    assert [len(b) for _, b in when.branches] == [1, 1]


def test_statements() -> None:
    (section,) = the_body(
        """
        algorithm
          a.b[2] := if c then 1 else 2;
          (d, , e) := f(1);
          g(1, x = 2);
          while a < 3 loop a := a + 1; if a > 2 then break; end if; end while;
          for i in {1, 2} loop return; end for;
          when a then b := 1; elsewhen c then b := 2; end when;
          assert(true, "text");
        """
    ).sections
    kinds = [type(s).__name__ for s in section.body]
    assert kinds == [
        "Assignment", "Assignment", "CallEquation", "While", "For", "When", "CallEquation",
    ]  # fmt: skip
    assert section.algorithm
    loop = section.body[4]
    assert isinstance(loop, tree.For)
    (jump,) = loop.body
    assert isinstance(jump, tree.Jump)
    assert jump.word == "return"


def test_external_functions() -> None:
    def external(text: str) -> tree.External:
        body = the_class(f"function f\n input Real x;\n{text}\nend f;").body
        assert body is not None
        assert body.external is not None
        return body.external

    plain = external("external;")
    assert (plain.language, plain.function, plain.output) == ("C", "", None)
    full = external('external "FORTRAN 77" y[1] = g(x, size(x, 1)) annotation(Library = "l");')
    assert (full.language, full.function, written(full.output)) == ("FORTRAN 77", "g", "y[1]")
    assert listed(full.arguments) == "x, size(x, 1)"
    assert full.annotation is not None


def test_nested_classes_are_read_when_they_are_asked_for() -> None:
    outer = the_class("package P model A x = = 2; end A; type T = Real; end P;")
    assert outer.body is not None
    inner, short = outer.body.classes
    assert (inner.name, short.name) == ("A", "T")
    with pytest.raises(SourceError, match="text:1:21: expected a name, found '='"):
        _ = inner.body


def test_annotations_of_classes_are_read_when_they_are_asked_for() -> None:
    body = the_body("Real x; annotation(experiment(StopTime = 2.5), Icon(a = 1 2));")
    assert body.annotation is not None
    with pytest.raises(SourceError, match=r"text:2:59: expected ',' or '\)', found '2'"):
        body.annotation.read()


def test_trees_can_be_stored() -> None:
    found = the_class("model M Real x; equation x = 1; annotation(a = 2); end M;")
    again = pickle.loads(pickle.dumps(found))
    assert again.body.components[0].name == "x"
    assert again.body.annotation.read().arguments[0].path == ("a",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model M\n  Real x\nend M;", "S200: text:3:1: expected ';', found 'end'"),
        ("model M\n  Real x;\n", r"S200: text:1:1: expected 'end M;' for this 'model', found the end"),
        ("model M\nend N;", r"text:2:1: expected 'end M' for the model M of text:1:1, found 'end N'"),
        ("model M\nequation\n  x + 1;\nend M;", "text:3:8: expected '=', found ';'"),
        ("model M\nequation\n  x := 1;\nend M;", "text:3:5: expected '=', found ':='"),
        ("model M\nalgorithm\n  x = 1;\nend M;", "text:3:5: expected ':=', found '='"),
        ("model M\nequation\n  x = ;\nend M;", "text:3:7: expected an expression, found ';'"),
        ("model M\nequation\n  x = (1;\nend M;", r"text:3:7: expected '\)' for this '\('"),
        ("model M\nequation\n  x = {1);\nend M;", r"text:3:9: expected '}' for '{' of text:3:7"),
        ("model M\nequation\n  x = 1);\nend M;", r"text:3:8: expected no bracket to be closed, because none is open; found '\)'"),
        ("model M\nequation\n  x = a < b < c;\nend M;", "text:3:13: expected brackets"),
        ("model M\nequation\n  x = a^b^c;\nend M;", "text:3:10: expected brackets"),
        ("model M\nequation\n  x = f(a=1, 2);\nend M;", "text:3:14: expected an argument with a"),
        ("model M\n  Real x # 2;\nend M;", "text:2:10: expected Modelica, found the character '#'"),
        ('model M\n  String s = "abc;\nend M;', "text:2:14: expected '\"' for this '\"', found the end of the text"),
        ("model M\n  /* open\nend M;", r"text:2:3: expected '\*/' for this"),
        ("model M\n  Real 'x;\nend M;", "text:2:8: expected a second ' on this line"),
        ("model M\n  Real model;\nend M;", "text:2:8: expected a name, found 'model'"),
        ("model M\n  if true then;\nend M;", "text:2:3: expected a name, found 'if'"),
        ("Real x;", "text:1:1: expected a class"),
        ("type T Real;", "text:1:1: expected 'end T;'"),
        ("function f = der(g);", "text:1:19: expected ',' and the input"),
    ],
)  # fmt: skip
def test_errors_say_what_was_expected_where(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        force(parse_file(tree.Source(text)))


def test_errors_name_the_file() -> None:
    with pytest.raises(SourceError, match=r"S200: A/B\.mo:1:3: expected"):
        parse_file(tree.Source("  Real x;", "A/B.mo"))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000 + "1" + ")" * 100_000,
        "-" * 100_000 + "1",
        "if a then " * 20_000 + "1" + " else 1" * 20_000,
        "not " * 20_000 + "a",
        "[" * 400 + "1" + "]" * 400,
        "f(" * 499 + "1" + ")" * 499,
    ],
)
def test_deep_nesting_is_told_or_read(text: str) -> None:
    assert refusal(lambda: parse_expression(text))[:4] in ("", "S045", "S200")


def test_brackets_deeper_than_the_limit_are_told() -> None:
    with pytest.raises(SourceError, match="S045: text:1:501: brackets"):
        parse_expression("(" * 600 + "1" + ")" * 600)
    with pytest.raises(SourceError, match="S045: text:501:1: brackets and classes"):
        parse_file(tree.Source("".join(f"package P{i}\n" for i in range(600))))


# --- everything, forced ---------------------------------------------------------------------------


def parts_of(node: object) -> Iterator[object]:
    if isinstance(node, tuple):
        yield from node
    elif isinstance(node, tree.Annotation):
        yield node.read()
    elif is_dataclass(node) and not isinstance(node, (tree.Source, type)):
        if isinstance(node, tree.ClassDefinition):
            yield node.body
        yield from (getattr(node, f.name) for f in fields(node) if f.name != "source")


def force(file: tree.File) -> int:
    """Read all bodies and annotations; how many nodes there are."""
    left: list[object] = list(file.classes)
    count = 0
    while left:
        left += parts_of(left.pop())
        count += 1
    return count


SEED_TEXT = """
within A;
package P "a package"
  partial model Base
    replaceable package Medium = M.Water(n = 2) constrainedby M.Partial;
    replaceable Part part(x(start = 1), redeclare Inner y) constrainedby Partial;
  end Base;
  model M
    extends Base(redeclare package Medium = Air "air", final part.x = 3);
    import SI = Modelica.Units.SI;
    parameter Real p[2, :] = [1, 2; 3, 4] annotation(Dialog(group = "g"));
    Connector c[3] if p[1, 1] > 0;
    function f input Real u; output Real y = 2 * u; algorithm
      for i in 1:3 loop y := if u > 0 then -y ^ 2 else 'q r'; end for;
    end f;
  initial equation
    der(x) = f(time, u = {i for i in 1:3});
  equation
    connect(c[1].p, part.q) annotation(Line(points = {{0, 0}, {1, 1}}));
    when sample(0, 1) then reinit(x, -x); elsewhen initial() then z = 1; end when;
    if p[1, 1] > 0 then (a, , b) = g(function f(u = 1)); else a = .B.c[end]; end if;
    annotation(experiment(StopTime = 1), Documentation(info = "<html>\\"x\\"</html>"));
  end M;
  type E = enumeration(a "A", b);
end P;
"""


def mutated(text: str, generator: random.Random) -> str:
    pieces = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ";",
        '"',
        "'",
        "end",
        "/*",
        "//",
        "model",
        "=",
        "..",
        "1e",
    ]
    pieces += ["\\", "§", "function", "if", "for", ",", "annotation", "extends", "replaceable", "."]
    for _ in range(generator.randint(1, 4)):
        at = generator.randrange(len(text))
        kind = generator.randrange(4)
        if kind == 0:
            text = text[:at] + text[at + generator.randint(1, 12) :]
        elif kind == 1:
            text = text[:at] + f" {generator.choice(pieces)} " + text[at:]
        elif kind == 2:
            text = text[:at]
        else:
            other = generator.randrange(len(text))
            text = text[:at] + text[other : other + 30] + text[at:]
        text = text or ";"
    return text


def test_the_seed_of_the_mutations_is_modelica() -> None:
    assert force(parse_file(tree.Source(SEED_TEXT))) > 300


def test_mutated_texts_are_read_or_refused_with_a_place() -> None:
    generator = random.Random(20)
    refused = 0
    for _ in range(600):
        text = mutated(SEED_TEXT, generator)
        told = refusal(lambda text=text: force(parse_file(tree.Source(text))))
        assert told == "" or told.startswith("S200: text:")
        refused += told != ""
    assert refused > 300


@pytest.mark.msl
@pytest.mark.slow
def test_the_whole_standard_library_is_read() -> None:
    for folder in filter(None, os.environ["MODELICAPATH"].split(os.pathsep)):
        for path in sorted(Path(folder).rglob("*.mo")):
            text = path.read_text(encoding="utf-8")
            assert force(parse_file(tree.Source(text, str(path)))) > 0
