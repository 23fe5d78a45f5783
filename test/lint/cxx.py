"""C++ as the lints see it: tokens, brackets nested into groups, and what a pair of braces means.

No compiler: the code base has one style, and the shapes looked for are syntactic. A `{` is a block (a
body, a scope), a lambda's body, or an initialiser; which one follows from what stands before it.
"""
import re

TOKEN = re.compile(r'''
    (?P<space>\s+)
  | (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<raw>(?:u8|[uUL])?R"(?P<tag>[^()\\\s]*)\(.*?\)(?P=tag)")
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
  | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<punct>->\*?|::|&&|\|\||<=>|[-+*/%&|^=!<>]=|\+\+|--|\.\.\.|.)
''', re.X | re.S | re.M)
OPEN = {'(': ')', '[': ']', '{': '}'}
NOT_SUBSCRIPT = {'return', 'co_return', 'co_await', 'co_yield', 'throw', 'case', 'else', 'do', 'in'}
SPECIFIERS = {'const', 'noexcept', 'override', 'final', 'mutable', 'try', 'constexpr', 'volatile'}
CONTROL = {'if', 'for', 'while', 'switch', 'catch'}


class Token:
    def __init__(self, kind, text, line):
        self.kind, self.text, self.line = kind, text, line

    def is_group(self, bracket=None):
        return False


class Group:
    """A bracketed part. `role` of a '{' group: block, lambda, initialiser; `captures` of a lambda."""

    def __init__(self, bracket, line):
        self.bracket, self.line, self.end = bracket, line, line
        self.items = []
        self.role = None
        self.captures = False
        self.kind, self.text = 'group', bracket

    def is_group(self, bracket=None):
        return bracket is None or self.bracket == bracket


def tokens(source):
    line = 1
    for match in TOKEN.finditer(source):
        kind = match.lastgroup if match.lastgroup != 'tag' else 'raw'
        text = match.group(0)
        if kind not in ('space', 'comment', 'directive'):
            yield Token(kind, text, line)
        line += text.count('\n')


def directives(source):
    line = 1
    for match in TOKEN.finditer(source):
        if match.lastgroup == 'directive':
            yield line, match.group(0)
        line += match.group(0).count('\n')


def parse(source):
    """The file as one group whose items are tokens and groups, braces classified."""
    top = Group('{', 1)
    top.role = 'block'
    stack = [top]
    for token in tokens(source):
        if token.text in OPEN and token.kind == 'punct':
            group = Group(token.text, token.line)
            stack[-1].items.append(group)
            if token.text == '{':
                classify(group, stack[-1])
            stack.append(group)
        elif token.text in OPEN.values() and token.kind == 'punct':
            if len(stack) > 1 and OPEN[stack[-1].bracket] == token.text:
                stack.pop().end = token.line
        else:
            stack[-1].items.append(token)
    return top


def classify(group, parent):
    before = parent.items[:-1]
    group.role, group.captures = role(before, parent)


def statement_start(items):
    """Index of the first item of the statement that the end of `items` belongs to."""
    for i in range(len(items) - 1, -1, -1):
        item = items[i]
        if item.text == ';' and item.kind == 'punct':
            return i + 1
        if item.is_group('{') and item.role == 'block':
            return i + 1
    return 0


def role(before, parent):
    inside_values = parent.bracket != '{' or parent.role == 'initialiser'
    lambda_found = lambda_at_end(before)
    if lambda_found is not None:
        return 'lambda', bool(lambda_found.items)
    if inside_values:
        return 'initialiser', False
    statement = before[statement_start(before):]
    if not statement:
        return 'block', False
    last = statement[-1]
    words = [t.text for t in statement if t.kind == 'word']
    if last.text in ('else', 'do', 'try') or last.text == ':':
        return 'block', False
    if words and words[0] in ('namespace', 'extern') and '=' not in [t.text for t in statement]:
        return 'block', False
    if is_type_head(statement):
        return 'block', False
    if last.is_group('{') and last.role == 'initialiser':
        return 'block', False  # the body behind a constructor's last initialiser
    if ends_function_head(statement):
        return 'block', False
    return 'initialiser', False


def is_type_head(statement):
    """struct X, class X final : public Y, enum class X : int; not `struct X x = `."""
    texts = [t.text for t in statement]
    if '=' in texts or any(t.is_group('(') for t in statement[1:] if t.kind == 'group'):
        return False
    return any(w in texts for w in ('struct', 'class', 'enum', 'union'))


def ends_function_head(statement):
    i = len(statement) - 1
    while i >= 0 and statement[i].text in SPECIFIERS:
        i -= 1
    if i >= 0 and statement[i].is_group('('):
        return True
    for j in range(len(statement) - 1, 0, -1):  # ") -> type {"
        if statement[j].text == '->':
            k = j - 1
            while k >= 0 and statement[k].text in SPECIFIERS:
                k -= 1
            return k >= 0 and statement[k].is_group('(') and not any(
                t.is_group() for t in statement[j + 1:])
    return any(t.text == 'requires' for t in statement)


def lambda_at_end(before):
    """The capture group of the lambda whose body opens next, or None."""
    i = len(before) - 1
    j = i
    while j >= 0 and before[j].text != '->' and (
            before[j].kind in ('word', 'number') or before[j].text in ('::', '<', '>', ',', '*', '&')):
        j -= 1
    if j >= 0 and before[j].text == '->':
        i = j - 1
    while i >= 0 and before[i].text in SPECIFIERS:
        i -= 1
    if i >= 0 and before[i].is_group('('):
        i -= 1
        if i >= 0 and before[i].text == 'noexcept':
            i -= 2
    if i >= 0 and before[i].text == '>':  # template parameters
        while i >= 0 and not before[i].is_group('['):
            i -= 1
    if i < 0 or not before[i].is_group('['):
        return None
    previous = before[i - 1] if i > 0 else None
    if previous is None:
        return before[i]
    if previous.is_group('[') or previous.is_group('('):
        return None
    if previous.kind == 'word' and previous.text not in NOT_SUBSCRIPT:
        return None
    return before[i]


def walk(group):
    """Every group, outermost first."""
    yield group
    for item in group.items:
        if item.is_group():
            yield from walk(item)


def statements(block):
    """The statements of a block as lists of items; a block that belongs to one ends it."""
    current = []
    for item in block.items:
        if item.text == ';' and item.kind == 'punct':
            if current:
                yield current
            current = []
            continue
        current.append(item)
        if item.is_group('{') and item.role == 'block':
            yield current
            current = []
    if current:
        yield current


def bodies(tree):
    """Blocks and lambda bodies: where statements live."""
    return [g for g in walk(tree) if g.bracket == '{' and g.role in ('block', 'lambda')]
