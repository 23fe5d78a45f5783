// A test's name with the requirements it proves: req('C58: ...', 'id', 'id') -> 'C58: ... [req:id]'.
// test/tools/conformance_matrix.py reads the tags from the results.
export function req(name, ...ids) {
  return `${name} ${ids.map((id) => `[req:${id}]`).join('')}`;
}
