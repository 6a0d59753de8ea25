package store

import (
	"strconv"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/ncruces/go-sqlite3"
	"pgregory.net/rapid"
)

func report(t testing.TB, s *Store, k Key) SessionReport {
	t.Helper()
	r, found, err := s.Reports.Of(t.Context(), k)
	if err != nil || !found {
		t.Fatalf("report %s: found %v, err %v", k, found, err)
	}
	return r
}

func TestReportCountsUnits(t *testing.T) {
	s := openIn(t, t.TempDir())
	must(t, s.CommitPass(t.Context(), commit(key, 1))) // each pass brings a text of 100 tokens, and a tool result of 2000 with an input of 20
	second := commit(key, 2)
	second.Edits = []EditRow{{Tag: 1, Kind: "drop"}, {Tag: 2, Kind: "skeleton"}, {Tag: 4, Kind: "drop"}}
	second.Pass.Bust, second.Pass.BustCause = true, "threshold"
	must(t, s.CommitPass(t.Context(), second))
	r := report(t, s, key)
	same(t, "busts", r.BustCauses, []schema.CauseCount{{Cause: "threshold", Count: 1}})
	if r.Units != 4 || r.Dropped != 3 || r.DroppedTokens != 100+2*2000+20 {
		t.Errorf("%d units, %d dropped with %d tokens, want 4 and 3 with 4120", r.Units, r.Dropped, r.DroppedTokens)
	}
	all, known, err := s.Reports.All(t.Context(), 1)
	must(t, err)
	same(t, "report of all", all, []SessionReport{r})
	if known != 1 {
		t.Errorf("%d sessions known, want 1", known)
	}
}

func TestBustsAreCountedByCause(t *testing.T) {
	s := openIn(t, t.TempDir())
	for n, cause := range []string{"model", "", "threshold", "model", "flush", "threshold", "model"} {
		p := commit(key, n+1)
		p.Pass.Bust, p.Pass.BustCause = cause != "", cause
		must(t, s.CommitPass(t.Context(), p))
	}
	if _, err := s.MarkBust(t.Context(), key, 2, "flush"); err != nil {
		t.Fatal(err)
	}
	same(t, "busts", report(t, s, key).BustCauses, []schema.CauseCount{{Cause: "model", Count: 3}, {Cause: "flush", Count: 2}, {Cause: "threshold", Count: 2}})
}

// Triggers keep the sums up to date. The sums must always equal a fresh count of all rows.
func TestSumsEqualAFreshCount(t *testing.T) {
	s := openIn(t, t.TempDir())
	sessions := 0
	rapid.Check(t, func(r *rapid.T) {
		sessions++
		key := Key{"opencode", strconv.Itoa(sessions)}
		passes := 0
		for range rapid.IntRange(1, 8).Draw(r, "writes") {
			switch rapid.SampledFrom([]string{"commit", "commit", "commit", "remove", "remove", "delete"}).Draw(r, "write") {
			case "commit":
				passes++
				p := commit(key, passes)
				p.Units[0].Kind = rapid.SampledFrom([]string{"text", "file"}).Draw(r, "kind")
				for _, tag := range rapid.SliceOfN(rapid.IntRange(1, 2*passes), 0, 3).Draw(r, "tags") {
					p.Edits = append(p.Edits, EditRow{Tag: tag, Kind: rapid.SampledFrom([]string{"drop", "skeleton", "truncate"}).Draw(r, "edit")})
				}
				must(t, s.CommitPass(t.Context(), p))
			case "remove":
				n := rapid.IntRange(1, passes+1).Draw(r, "message")
				must(t, s.RemoveMessages(t.Context(), key, []string{"msg_" + strconv.Itoa(n)}))
			case "delete":
				must(t, s.DeleteSession(t.Context(), key))
			}
		}
		got, _, err := s.Reports.Of(t.Context(), key)
		must(t, err)
		want := countUnits(t, s, key)
		if got.Units != want.Units || got.Dropped != want.Dropped || got.DroppedTokens != want.DroppedTokens {
			t.Fatalf("%d units, %d dropped with %d tokens, want %+v", got.Units, got.Dropped, got.DroppedTokens, want)
		}
	})
}

// countUnits computes the counts by reading every unit.
func countUnits(t testing.TB, s *Store, k Key) (sum SessionSummary) {
	t.Helper()
	must(t, s.View(t.Context(), func(c *sqlite3.Conn) error {
		units, err := readUnits(c, k, 0)
		if err != nil {
			return err
		}
		edits, err := readEdits(c, k)
		if err != nil {
			return err
		}
		dropped, whole := map[int]bool{}, map[int]bool{}
		for _, e := range edits {
			dropped[e.Tag] = dropped[e.Tag] || e.Kind == "drop" || e.Kind == "skeleton"
			whole[e.Tag] = whole[e.Tag] || e.Kind == "drop"
		}
		sum.Units = len(units)
		for _, u := range units {
			if dropped[u.Tag] {
				sum.Dropped++
				sum.DroppedTokens += int64(u.Tokens)
			}
			if whole[u.Tag] {
				sum.DroppedTokens += int64(u.InputTokens)
			}
		}
		return nil
	}))
	return sum
}

func BenchmarkReport(b *testing.B) {
	s := openIn(b, b.TempDir())
	p := firstPass(10_000)
	for n := range 50 {
		p.Session.Key.Session = "ses_" + strconv.Itoa(n)
		must(b, s.CommitPass(b.Context(), p))
	}
	for b.Loop() {
		if all, _, err := s.Reports.All(b.Context(), 50); err != nil || len(all) != 50 {
			b.Fatal(len(all), err)
		}
	}
}

func TestNewestPriceIsTold(t *testing.T) {
	s := openIn(t, t.TempDir())
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	if r := report(t, s, key); r.Priced != nil {
		t.Errorf("a price that nobody weighed: %+v", r.Priced)
	}
	paid, waits := commit(key, 2), commit(key, 3)
	paid.Pass.Bust, paid.Pass.BustCause, paid.Pass.Cause, paid.Pass.Price = true, "pressure", "pressure", schema.BustPrice{Resent: 12900, Removed: 9800, BreakEven: 2.5, Forecast: 41, Thinking: 300}
	waits.Pass.Cause, waits.Pass.Price = "not-worth-it", schema.BustPrice{Resent: 700, Forecast: 4}
	must(t, s.CommitPass(t.Context(), paid))
	must(t, s.CommitPass(t.Context(), commit(key, 4)))
	same(t, "price", report(t, s, key).Priced, &schema.PricedPass{Pass: 2, Cause: "pressure", Bust: true, Price: schema.BustPrice{Resent: 12900, Removed: 9800, BreakEven: 2.5, Forecast: 41, Thinking: 300}})
	waits.Session.Passes, waits.Pass.Pass = 5, 5
	must(t, s.CommitPass(t.Context(), waits))
	must(t, s.CommitPass(t.Context(), commit(key, 6)))
	same(t, "price", report(t, s, key).Priced, &schema.PricedPass{Pass: 5, Cause: "not-worth-it", Bust: false, Price: schema.BustPrice{Resent: 700, Forecast: 4}})
}

// The query must use its index. Otherwise a status would read the whole journal of every session that has no price.
func TestNewestPriceReadsItsIndexOnly(t *testing.T) {
	s := openIn(t, t.TempDir())
	rows, err := s.Writer().Query("EXPLAIN QUERY PLAN "+reportPricedSQL, "h", "s")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var plan string
		must(t, rows.Scan(&id, &parent, &unused, &plan))
		if !strings.Contains(plan, "passes_priced") {
			t.Errorf("plan: %s", plan)
		}
	}
	must(t, rows.Err())
}
