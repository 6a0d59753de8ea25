package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/schema"
)

// A frame is one message on the pipe: a header as in the language server protocol, a JSON body and an optional
// attachment. The attachment holds raw bytes that would be too large for the JSON-RPC library:
//
//	Content-Length: 71\r\n
//	Attachment-Length: 5800000\r\n
//	\r\n
//	<body><attachment>
type frame struct {
	body       []byte
	attachment []byte
	// If the attachment was not stored, `refused` says why. Otherwise, it is nil.
	refused error
}

var (
	errMalformedFrame = errors.New("malformed frame")
	errOversizedFrame = errors.New("oversized frame")
	errNoMemory       = errors.New("no room")
)

const (
	headerContent    = "Content-Length"
	headerAttachment = "Attachment-Length"

	// A header has two short lines. A much longer header does not come from a shim or a host.
	maxHeaderLines     = 16
	maxHeaderLineBytes = 1 << 10

	readBufferBytes = 256 << 10
	// readExactly does not trust the length in a header, so its first buffer has at most this size.
	firstGrowBytes = 4 << 20
	// The buffer grows by this factor, so an attachment of any size is copied at most twice.
	growth = 16
)

// readFrame reads the next frame, and reserves memory for it with mem. If the stream ends between two frames, it
// returns io.EOF. If the rest of the stream cannot be read, the error wraps errMalformedFrame, errOversizedFrame,
// errNoMemory or io.ErrUnexpectedEOF. If only the attachment does not fit into memory, readFrame skips the attachment
// and returns the frame without it.
func readFrame(r *bufio.Reader, mem *reservation) (frame, error) {
	bodyBytes, attachmentBytes, err := readHeader(r)
	if err != nil {
		return frame{}, err
	}
	var f frame
	if f.body, _, err = readExactly(r, bodyBytes, mem); err != nil {
		return frame{}, fmt.Errorf("frame body of %d bytes: %w", bodyBytes, err)
	}
	var read int
	f.attachment, read, err = readExactly(r, attachmentBytes, mem)
	if errors.Is(err, errNoMemory) {
		f.refused = err
		_, err = io.CopyN(io.Discard, r, int64(attachmentBytes-read))
		err = noEOF(err)
	}
	if err != nil {
		return frame{}, fmt.Errorf("frame attachment of %d bytes: %w", attachmentBytes, err)
	}
	return f, nil
}

func readHeader(r *bufio.Reader) (body, attachment int, err error) {
	for n := 0; ; n++ {
		line, err := readHeaderLine(r)
		if errors.Is(err, io.EOF) && n == 0 && len(line) == 0 {
			return 0, 0, io.EOF
		}
		if err != nil {
			return 0, 0, fmt.Errorf("frame header: %w", noEOF(err))
		}
		if line == "" {
			break
		}
		if n == maxHeaderLines {
			return 0, 0, fmt.Errorf("%w: more than %d header lines", errMalformedFrame, maxHeaderLines)
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return 0, 0, fmt.Errorf("%w: header line %.40q", errMalformedFrame, line)
		}
		switch {
		case strings.EqualFold(name, headerContent):
			body, err = parseLength(name, value, schema.MaxBodyBytes)
		case strings.EqualFold(name, headerAttachment):
			attachment, err = parseLength(name, value, schema.MaxAttachmentBytes)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if body == 0 {
		return 0, 0, fmt.Errorf("%w: no %s", errMalformedFrame, headerContent)
	}
	return body, attachment, nil
}

func readHeaderLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	if len(line) > maxHeaderLineBytes || errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("%w: header line of more than %d bytes", errMalformedFrame, maxHeaderLineBytes)
	}
	if err != nil {
		return string(line), err
	}
	line, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok {
		return "", fmt.Errorf("%w: header line without \\r", errMalformedFrame)
	}
	return string(line), nil
}

func parseLength(name, value string, limit int) (int, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 63)
	if errors.Is(err, strconv.ErrRange) || err == nil && n > uint64(limit) {
		return 0, fmt.Errorf("%w: %s %.20s, at most %d", errOversizedFrame, name, strings.TrimSpace(value), limit)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s %.20q", errMalformedFrame, name, value)
	}
	return int(n), nil
}

// readExactly reads n bytes. Its buffer grows as the bytes arrive, so a header with a false length costs little memory.
// If there is not enough memory, the error wraps errNoMemory. The result `read` says how many bytes were read.
func readExactly(r io.Reader, n int, mem *reservation) (content []byte, read int, err error) {
	if n == 0 {
		return nil, 0, nil
	}
	var buf []byte
	for size := min(n, firstGrowBytes); ; size = min(n, growth*size) {
		if err := mem.grow(size); err != nil {
			mem.shrink(len(buf))
			return nil, read, err
		}
		grown := make([]byte, size)
		copy(grown, buf)
		mem.shrink(len(buf))
		buf = grown
		m, err := io.ReadFull(r, buf[read:])
		read += m
		if err != nil {
			return nil, read, noEOF(err)
		}
		if read == n {
			return buf, read, nil
		}
	}
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func appendHeader(b []byte, bodyBytes, attachmentBytes int) []byte {
	b = append(b, headerContent+": "...)
	b = strconv.AppendInt(b, int64(bodyBytes), 10)
	if attachmentBytes > 0 {
		b = append(b, "\r\n"+headerAttachment+": "...)
		b = strconv.AppendInt(b, int64(attachmentBytes), 10)
	}
	return append(b, "\r\n\r\n"...)
}

// writeFrame does not copy the attachment.
func writeFrame(w io.Writer, f frame) error {
	head := appendHeader(make([]byte, 0, 64+len(f.body)), len(f.body), len(f.attachment))
	if _, err := w.Write(append(head, f.body...)); err != nil {
		return err
	}
	if len(f.attachment) == 0 {
		return nil
	}
	_, err := w.Write(f.attachment)
	return err
}
