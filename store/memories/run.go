package memories

import (
	_ "embed"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

//go:embed query/run_list.sql
var runListSQL string

func (r *Reader) Runs(limit int) (all []chronicle.Run, err error) {
	err = r.scan(runListSQL, func(row *sqlite3.Stmt) {
		run := chronicle.Run{
			Agent: row.ColumnText(0), Kind: row.ColumnText(1), Status: row.ColumnText(2), Reason: row.ColumnText(3), Model: row.ColumnText(4),
			StartedAt: row.ColumnInt64(5), EndedAt: row.ColumnInt64(6), Start: row.ColumnInt(7), End: row.ColumnInt(8), Produced: row.ColumnInt(9),
			Fidelity: row.ColumnFloat(10), Tokens: row.ColumnInt(11),
			Session: row.ColumnText(12), Title: row.ColumnText(13), Project: row.ColumnText(14), Directory: row.ColumnText(15), Undoes: row.ColumnInt(17),
		}
		if row.ColumnType(16) != sqlite3.NULL {
			cost := row.ColumnInt64(16)
			run.Cost = &cost
		}
		all = append(all, run)
	}, limit)
	return all, err
}
