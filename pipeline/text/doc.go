// Package text holds functions from text to text: they compress, remove injected blocks and inline thinking, show
// pauses, and write todo lists. The rules call them to decide, and render calls them to apply edits.
//
// A stored edit only names its function, for example "strip", and every pass computes the result again. So if a release
// changes the result of a function here, the wires of running sessions change.
//
// It may import internal/json.
package text
