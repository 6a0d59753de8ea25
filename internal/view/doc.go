// Package view draws the output for people: the live screen of status --watch, and the text of status, history
// and doctor. A view decides nothing, asks no host and waits for nothing: it gets data and returns text. Its
// sub-packages draw a replay: report for a terminal, page for a browser.
//
// It may import internal/chronicle, internal/doctor, internal/format, internal/words and schema.
package view
