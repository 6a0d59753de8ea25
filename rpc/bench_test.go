package rpc

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/schema"
)

func (r *rig) socketPair() *Client {
	r.t.Helper()
	l, err := net.Listen("unix", filepath.Join(r.t.TempDir(), "s"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer l.Close()
	theirs, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	ours, err := l.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	r.serve(ours)
	c := NewClient(theirs, nil, nil)
	r.t.Cleanup(func() { c.Close(context.Background()) })
	mustCall(r.t, c, schema.MethodInitialize, hello(), nil)
	return c
}

func BenchmarkSmallCall(b *testing.B) {
	c := newRig(b, &scriptedHost{}).socketPair()
	ctx := context.Background()
	p := schema.TextCompleteParams{Session: "s", Text: "I read the file first."}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Call(ctx, schema.MethodTextComplete, p, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAttachment(b *testing.B) {
	messages := append(bytes.Repeat([]byte("1,"), 29<<19), '1')
	c := newRig(b, &scriptedHost{
		transform: func(_ context.Context, _ client.Client, p schema.TransformParams) (m schema.WireMutation, err error) {
			if len(p.Messages) != len(messages) {
				b.Errorf("%d bytes arrived, want %d", len(p.Messages), len(messages))
			}
			return m, nil
		},
	}).socketPair()
	ctx := context.Background()
	b.SetBytes(int64(len(messages)))
	b.ReportAllocs()
	for b.Loop() {
		err := c.CallWithAttachment(ctx, schema.MethodTransform, schema.TransformParams{Session: "s"}, messages, nil)
		if err != nil {
			b.Fatal(err)
		}
	}
}
