"""The rooms of the house and their rows: the one place where the direction of includes is written.

A room includes only rooms of rows above its own (smaller numbers), and of its own row only where
SAME_ROW says so. docs/architecture.md explains the rooms.
"""

ROWS = {
    'base': 0, 'log': 0, 'metrics': 0,
    'json': 1, 'rpc': 1, 'mcp': 1, 'http1': 1, 'config': 1,
    'runtime': 2,
    'net': 3, 'process': 3, 'store': 3,
    'call': 4, 'http': 4,
    'upstream': 5,
    'registry': 6, 'broker': 6,
    'ask': 7,
    'tasks': 8, 'downstream': 8, 'admin': 8,
    'daemon': 9,
}

# (from, to) within one row, or against the rows, each for a reason.
SAME_ROW = {
    ('log', 'base'),       # redaction of lines
    ('metrics', 'base'),
    ('rpc', 'json'),       # an envelope is JSON
    ('mcp', 'json'), ('mcp', 'rpc'),  # the vocabulary is spoken in envelopes
    ('runtime', 'log'),    # an escaped exception is logged
    ('downstream', 'tasks'),  # what calls become while they run
    ('process', 'net'),    # a child's pipes are byte streams
}

# Pure rooms: no event loop, no clock, no sockets.
PURE = {'json', 'rpc', 'mcp', 'http1', 'config'}
# Third-party headers kept in one place: (pattern of the header, where it may appear, why).
ONLY_IN = [
    (r'spdlog/', [r'internal/log/log\.cpp'], 'spdlog stays in log.cpp (compile time)'),
    (r'yaml-cpp/', [r'internal/config/'], 'yaml-cpp belongs to config'),
    (r'boost/beast', [], 'http1 has the parser of heads, net the I/O'),
    (r'sqlite3', [r'internal/store/'], 'SQLite belongs to store'),
    (r'openssl/', [r'internal/net/', r'internal/base/', r'internal/mcp/', r'internal/ask/'],
     'OpenSSL belongs to net (TLS), to the digests of base and mcp, and to the seal of ask'),
    (r'boost/asio', [], 'runtime has the event loop, net the I/O (docs/adr/0005)'),
]
# Clocks read where `now` should be a parameter.
CLOCKS = r'\b(?:steady_clock|system_clock|high_resolution_clock|Clock)::now\s*\('
