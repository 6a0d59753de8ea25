// Package text holds functions from text to text. Rules use them to decide, and
// render uses them to apply edits: they compress, remove injections and inline
// thinking, mark gaps in time, and write the list of todos.
//
// A frozen edit stores only its name, for example "strip", and every pass computes its
// result again. So if a function here returns a different text from before, the wires
// of running sessions change.
//
// It may import internal/json.
package text
