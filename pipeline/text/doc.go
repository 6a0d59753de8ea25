// Package text holds functions from text to text that rules decide on and
// render applies: compressing, taking injections and inline thinking out,
// marking gaps in time, the list of todos.
//
// What a frozen edit names is computed anew on every pass, so a change of any
// output here changes the wires of sessions that are under way.
//
// It may import internal/json.
package text
