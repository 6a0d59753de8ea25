package watch

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/observer"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/view"
)

// Plain prints the status once. It then prints one line for each event, until ctx ends.
func Plain(ctx context.Context, o Options, w io.Writer) error {
	v := o.live()
	v.Away = ""
	return printed(ctx, o, func(n observer.News) error {
		isFirst := v.Status == nil
		v = v.Heard(n.Status, n.Away, time.Now())
		if isFirst && n.Status != nil {
			o.Page.Now = time.Now()
			return view.PrintStatus(w, *n.Status, o.Page)
		}
		return view.PrintNews(w, v, o.Page)
	})
}

// JSON prints the status as a line after each change of a session. If no host is running, it reports this on `errs`.
func JSON(ctx context.Context, o Options, w, errs io.Writer) error {
	isAway := false
	return printed(ctx, o, func(n observer.News) error {
		wasAway := isAway
		if isAway = n.Status == nil; isAway && !wasAway {
			if _, err := fmt.Fprintf(errs, "magicctx-host: %s; waiting for a host, which starts with the first session\n", format.Clean(n.Away)); err != nil {
				return err
			}
		}
		if !n.Changed {
			return nil
		}
		line, err := json.Marshal(n.Status)
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n", format.CleanJSON(line))
		}
		return err
	})
}

// printed calls the function `tell` for each event, until ctx ends or `tell` fails. For example, `tell` fails if the
// output goes to `head` and head has ended.
func printed(ctx context.Context, o Options, tell func(observer.News) error) (failed error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	o.Follow(ctx, func(n observer.News) {
		if failed = tell(n); failed != nil {
			stop()
		}
	})
	return failed
}
