package page

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view/page"
)

const browserTimeout = 6 * time.Minute

func TestPageInBrowser(t *testing.T) {
	chromium, node, repo := tools(t)
	ctx, cancel := context.WithTimeout(t.Context(), browserTimeout)
	defer cancel()

	pages := t.TempDir()
	replayed(ctx, t, repo, pages, "long")
	rendered(t, pages, "thirty", thirtySessions())
	rendered(t, pages, "endless", endlessSession(5000))
	rendered(t, pages, "broken", brokenSession())

	cmd := exec.CommandContext(ctx, node, filepath.Join(repo, "e2e", "page", "browse.mjs"), chromium, pages, filepath.Join(repo, "bin", "screens"))
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

func replayed(ctx context.Context, t *testing.T, repo, pages, name string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, "go", "run", "./cmd/magicctx-host", "replay",
		"--html", filepath.Join(pages, name+".html"), filepath.Join("testdata", "traces", name+".jsonl.gz"))
	cmd.Dir = repo
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("replay %s: %v\n%s", name, err, out)
	}
}

func rendered(t *testing.T, pages, name string, s replay.Summary) {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, s, page.Options{Trace: name + ".jsonl"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pages, name+".html"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
