package tokens

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// The first two numbers come from Anthropic's documentation. An image of unknown size counts as unknownImageTokens,
// which is about the size of an average image.
const (
	pixelsPerToken     = 750
	maxImageTokens     = 4500
	unknownImageTokens = 1200
)

// maxImageHead is the number of base64 characters that we decode. An image may have megabytes, but its width and height
// are near the start.
const maxImageHead = 512

// Image returns the tokens of an image in a data URL: its area in pixels divided by 750, at least 1 and at most
// 4500. Any other URL counts as 1200 tokens, and so does an image whose first bytes do not contain its size.
// The content decides the format (PNG, JPEG, WebP or GIF), not the type in the URL.
func Image(dataURL string) int {
	var buffer [maxImageHead]byte
	width, height, ok := imageSize(imageHead(dataURL, &buffer))
	if !ok {
		return unknownImageTokens
	}
	// A broken header may claim any size, so the multiplication uses 64 bits.
	area := uint64(width) * uint64(height)
	return int(min(max((area+pixelsPerToken-1)/pixelsPerToken, 1), maxImageTokens))
}

func imageHead(dataURL string, buffer *[maxImageHead]byte) []byte {
	const scheme, marker = "data:", ";base64"
	comma := strings.IndexByte(dataURL[:min(len(dataURL), 256)], ',')
	if comma < 0 || !hasPrefixFold(dataURL, scheme) || !strings.HasSuffix(dataURL[:comma], marker) {
		return nil
	}
	body := dataURL[comma+1:]
	body = strings.TrimRight(body[:min(len(body), maxImageHead)], "=")
	if len(body)%4 == 1 {
		body = body[:len(body)-1]
	}
	copy(buffer[:], body)
	n, _ := base64.RawStdEncoding.Decode(buffer[:], buffer[:len(body)]) // the bytes before an invalid character may be enough
	return buffer[:n]
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// imageSize returns unsigned numbers, because a broken header may contain any bits, and a negative width makes no
// sense.
func imageSize(b []byte) (width, height uint32, ok bool) {
	switch {
	case hasAt(b, 0, "\x89PNG\r\n\x1a\n") && hasAt(b, 12, "IHDR") && len(b) >= 24:
		return binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint32(b[20:]), true
	case (hasAt(b, 0, "GIF87a") || hasAt(b, 0, "GIF89a")) && len(b) >= 10:
		return little16(b[6:]), little16(b[8:]), true
	case hasAt(b, 0, "RIFF") && hasAt(b, 8, "WEBP"):
		return webpSize(b)
	case hasAt(b, 0, "\xff\xd8"):
		return jpegSize(b)
	}
	return 0, 0, false
}

// The first chunk of a WebP file tells whether the image is lossy ("VP8 "), lossless ("VP8L") or extended ("VP8X").
// Each kind stores the size in another place.
func webpSize(b []byte) (width, height uint32, ok bool) {
	switch {
	case hasAt(b, 12, "VP8 ") && hasAt(b, 23, "\x9d\x01\x2a") && len(b) >= 30:
		return little16(b[26:]) & 0x3fff, little16(b[28:]) & 0x3fff, true // 14 bits each; the upper two are a scale
	case hasAt(b, 12, "VP8L") && hasAt(b, 20, "\x2f") && len(b) >= 25:
		bits := binary.LittleEndian.Uint32(b[21:]) // 14 bits each; the header holds size minus one
		return bits&0x3fff + 1, bits>>14&0x3fff + 1, true
	case hasAt(b, 12, "VP8X") && len(b) >= 30:
		return little24(b[24:]) + 1, little24(b[27:]) + 1, true
	}
	return 0, 0, false
}

// jpegSize reads the segments up to the start of frame, which holds the size.
func jpegSize(b []byte) (width, height uint32, ok bool) {
	for i := 2; i+9 <= len(b) && b[i] == 0xff; {
		marker := b[i+1]
		switch {
		case marker == 0xff: // this is a fill byte
			i++
		case marker == 0x01 || marker >= 0xd0 && marker <= 0xd8: // this marker has no length
			i += 2
		case startsFrame(marker):
			return uint32(binary.BigEndian.Uint16(b[i+7:])), uint32(binary.BigEndian.Uint16(b[i+5:])), true
		default:
			i += 2 + int(binary.BigEndian.Uint16(b[i+2:]))
		}
	}
	return 0, 0, false
}

// startsFrame reports whether a marker starts a frame. All markers from C0 to CF do, except three: C4 and CC introduce
// tables, and C8 is reserved.
func startsFrame(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
}

func hasAt(b []byte, i int, text string) bool {
	return len(b) >= i+len(text) && string(b[i:i+len(text)]) == text
}

func little16(b []byte) uint32 { return uint32(binary.LittleEndian.Uint16(b)) }

func little24(b []byte) uint32 { return little16(b) | uint32(b[2])<<16 }
