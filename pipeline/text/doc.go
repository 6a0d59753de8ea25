// Package text holds functions from text to text: they compress, remove injected blocks and inline thinking,
// show pauses, and write the list of todos. Rules use them to decide, and render uses them to apply edits.
//
// A frozen edit stores only its name, for example "strip", and every pass computes its result again. So if a new
// release of a function here returns another text, the wires of running sessions change.
//
// It may import internal/json.
package text
