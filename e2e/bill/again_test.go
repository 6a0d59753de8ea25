package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

func TestAgainReplaysATrace(t *testing.T) {
	o := options{trace: filepath.Join("..", "..", "testdata", "traces", "history.jsonl.gz"), route: byAnthropic.flag, reads: []float64{usualReads}}
	var out, errs strings.Builder
	if err := o.again(t.Context(), &out, &errs); err != nil {
		t.Fatal(err)
	}
	if errs.Len() > 0 {
		t.Errorf("the trace lacks something: %s", errs.String())
	}
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")[1:]
	if len(rows) != len(schema.Spendings) {
		t.Fatalf("%d rows, want one for each setting:\n%s", len(rows), out.String())
	}
	for i, row := range rows {
		cells := strings.Fields(row)
		const runs, published = 3, 7
		if cells[0] != string(schema.Spendings[i]) || cells[runs] == "0" || cells[published] == "$0" {
			t.Errorf("a row without a run of the historian: %q", cells)
		}
	}
}
