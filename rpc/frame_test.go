package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func readAll(data string) ([]frame, error) {
	r := bufio.NewReader(strings.NewReader(data))
	var frames []frame
	for {
		f, err := readFrame(r, new(reservation))
		if err != nil {
			return frames, err
		}
		frames = append(frames, f)
	}
}

func TestFrameOnTheWire(t *testing.T) {
	for _, test := range []struct {
		name string
		f    frame
		want string
	}{
		{"body", frame{body: []byte(`{"a":1}`)}, "Content-Length: 7\r\n\r\n{\"a\":1}"},
		{
			"attachment",
			frame{body: []byte(`{}`), attachment: []byte("[1,\n2]")},
			"Content-Length: 2\r\nAttachment-Length: 6\r\n\r\n{}[1,\n2]",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := writeFrame(&b, test.f); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, b.String()); diff != "" {
				t.Errorf("wire (-want +got):\n%s", diff)
			}
			got, err := readFrame(bufio.NewReader(iotest.OneByteReader(&b)), new(reservation))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.f, got, cmp.AllowUnexported(frame{})); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFramesFollowEachOther(t *testing.T) {
	frames, err := readAll("Content-Length: 2\r\nAttachment-Length: 3\r\n\r\n{}abc" +
		"content-length:4\r\nContent-Type: application/json\r\n\r\nnull")
	if !errors.Is(err, io.EOF) {
		t.Fatalf("ended with %v, want EOF between frames", err)
	}
	want := []frame{{body: []byte("{}"), attachment: []byte("abc")}, {body: []byte("null")}}
	if diff := cmp.Diff(want, frames, cmp.AllowUnexported(frame{})); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

func TestBadFramesAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		data string
		want error
	}{
		"no length":              {"Content-Type: x\r\n\r\n{}", errMalformedFrame},
		"zero length":            {"Content-Length: 0\r\n\r\n", errMalformedFrame},
		"negative":               {"Content-Length: -1\r\n\r\n", errMalformedFrame},
		"not a number":           {"Content-Length: 1e3\r\n\r\n", errMalformedFrame},
		"no colon":               {"{\"jsonrpc\":\"2.0\"}\r\n\r\n", errMalformedFrame},
		"bare newline":           {"Content-Length: 2\n\n{}", errMalformedFrame},
		"endless line":           {strings.Repeat("x", 1<<20), errMalformedFrame},
		"endless header":         {strings.Repeat("A: b\r\n", 100), errMalformedFrame},
		"body too large":         {"Content-Length: 8388609\r\n\r\n", errOversizedFrame},
		"beyond 64 bits":         {"Content-Length: 99999999999999999999\r\n\r\n", errOversizedFrame},
		"attachment too large":   {"Content-Length: 2\r\nAttachment-Length: 536870913\r\n\r\n{}", errOversizedFrame},
		"ends in header":         {"Content-Le", io.ErrUnexpectedEOF},
		"ends after header line": {"Content-Length: 2\r\n", io.ErrUnexpectedEOF},
		"ends in body":           {"Content-Length: 9\r\n\r\n{}", io.ErrUnexpectedEOF},
		"ends before attachment": {"Content-Length: 2\r\nAttachment-Length: 1\r\n\r\n{}", io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			frames, err := readAll(test.data)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if len(frames) > 0 {
				t.Errorf("got frames %v before the error", frames)
			}
		})
	}
}

func TestFalseHeaderCostsLittleMemory(t *testing.T) {
	const claim = "Content-Length: 2\r\nAttachment-Length: 536870912\r\n\r\n{}and no more"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := readAll(claim); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("got %v", err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*firstGrowBytes {
		t.Errorf("allocated %d bytes for a frame that never came", got)
	}
}

func TestLongAttachmentArrivesWhole(t *testing.T) {
	want := make([]byte, 3*firstGrowBytes+7)
	for i := range want {
		want[i] = byte(i * 31 >> 3)
	}
	got, _, err := readExactly(iotest.HalfReader(bytes.NewReader(want)), len(want), new(reservation))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("attachment changed on the way")
	}
}

func FuzzReadFrame(f *testing.F) {
	for _, seed := range []string{
		"Content-Length: 2\r\n\r\n{}",
		"Content-Length: 2\r\nAttachment-Length: 3\r\n\r\n{}abcContent-Length: 4\r\n\r\nnull",
		"Content-Length: 99999999999999999999\r\n\r\n",
		"content-length:\t7 \r\nX: y\r\n\r\n1234567",
		"\r\n\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		frames, err := readAll(data)
		if err == nil {
			t.Fatal("reading ended without an error")
		}
		// The frames, written again, give the same bytes.
		var b bytes.Buffer
		for _, fr := range frames {
			if err := writeFrame(&b, fr); err != nil {
				t.Fatal(err)
			}
		}
		again, err := readAll(b.String())
		if !errors.Is(err, io.EOF) {
			t.Fatalf("read back: %v", err)
		}
		if diff := cmp.Diff(frames, again, cmp.AllowUnexported(frame{})); diff != "" {
			t.Fatalf("read back (-first +again):\n%s", diff)
		}
	})
}
