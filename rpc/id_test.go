package rpc

import (
	"bufio"
	"context"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// A fixed bug (B9): the host answered a call with the id -1 as if its id were 18446744073709551615. After a call with
// the id 1.5, it closed the connection.
func TestB9EachIDIsAnsweredAsItWasWritten(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":%ID%,"method":"status","params":{}}`
	for _, id := range []string{
		"-1", "0", "1.5", "-0", "1e3", "9223372036854775807", "9223372036854775808", "18446744073709551615", "123456789012345678901234567890",
		`""`, `"a"`, `"-1"`, `"\u0000-1"`, `"\u0000"`,
	} {
		r := newRig(t, &scriptedHost{})
		near, far := Pipe()
		served := r.serve(far)
		if err := writeFrame(near, frame{body: []byte(strings.Replace(call, "%ID%", id, 1))}); err != nil {
			t.Fatal(err)
		}
		f, err := readFrame(bufio.NewReader(near), new(reservation))
		near.Close()
		wait(t, "the end of the connection", served)
		if err != nil {
			t.Errorf("id %s is not answered: %v", id, err)
			continue
		}
		var m message
		if err := json.Unmarshal(f.body, &m); err != nil {
			t.Fatal(err)
		}
		if string(m.ID) != id || m.Error != nil {
			t.Errorf("id %s is answered with %s", id, f.body)
		}
	}
}

// A client may cancel a call with any id, for example -1.
func TestB9CallWithANegativeIDCanBeCancelled(t *testing.T) {
	began := make(chan struct{})
	r := newRig(t, &scriptedHost{status: func(ctx context.Context) (st schema.StatusResult, err error) {
		close(began)
		<-ctx.Done()
		return st, context.Cause(ctx)
	}})
	near, far := Pipe()
	served := r.serve(far)
	send := func(body string) {
		if err := writeFrame(near, frame{body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	send(`{"jsonrpc":"2.0","id":-7,"method":"status","params":{}}`)
	wait(t, "the call", began)
	send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":-7}}`)
	f, err := readFrame(bufio.NewReader(near), new(reservation))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(f.body), `"id":-7`) || !strings.Contains(string(f.body), "cancelled") {
		t.Errorf("answered %s", f.body)
	}
	near.Close()
	wait(t, "the end of the connection", served)
}
