package compare

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view/page"
)

// Share writes the report of a trace, or of a session's newest trace, as a page for others.
func Share(ctx context.Context, tell io.Writer, dataDir, of, path string, withTexts bool) error {
	summary, err := newest(ctx, dataDir, of)
	if err != nil {
		return fmt.Errorf("share: %w", err)
	}
	page.Share(&summary, withTexts)
	var b bytes.Buffer
	if err := page.Write(&b, summary, page.Options{Trace: "a session"}); err != nil {
		return err
	}
	return save(tell, path, b.Bytes(), "read it before you send it")
}

// newest replays a trace, or the newest trace of a session. For a session, the summary holds only that session.
func newest(ctx context.Context, dataDir, of string) (replay.Summary, error) {
	all, wanted, err := choose(ctx, Options{Dir: dataDir, Of: []string{of}})
	if err != nil {
		return replay.Summary{}, err
	}
	s, err := play(ctx, all[0], replay.Options{})
	if err != nil {
		return s, fmt.Errorf("%s: %w", format.Clean(filepath.Base(all[0].Path)), err)
	}
	if wanted[all[0].Path] == nil {
		return s, nil
	}
	for _, one := range s.Sessions() {
		if one.Detail[0].Session == of {
			return one, nil
		}
	}
	return s, fmt.Errorf("the replay of %s has no request of this session", format.Clean(filepath.Base(all[0].Path)))
}
