package rawhistorytest

import (
	_ "embed"
	"testing"
)

//go:embed opencode2.sql
var openCode2Schema string

// NewOpenCode2 creates the database of a release of OpenCode 2, without the tables of version 1.
func NewOpenCode2(t testing.TB, home string) *OpenCode {
	t.Helper()
	o := openDatabase(t, home)
	o.UpgradeToOpenCode2()
	return o
}

// Like OpenCode 2, UpgradeToOpenCode2 keeps the tables of version 1.
func (o *OpenCode) UpgradeToOpenCode2() {
	o.t.Helper()
	o.Exec(openCode2Schema)
}

// Rename2ToBeta gives the tables the names of the betas of OpenCode 2.
func (o *OpenCode) Rename2ToBeta() {
	o.t.Helper()
	o.Exec(`ALTER TABLE session_v2 RENAME TO session`)
}

// data may be any text, even invalid JSON.
func (o *OpenCode) AddRow2(session, id, kind string, seq int64, data string) {
	o.t.Helper()
	o.insert(`INSERT INTO session_message VALUES (?, ?, ?, ?, 1, 1, ?)`, id, session, kind, seq, data)
}
