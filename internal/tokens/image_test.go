package tokens

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

func TestImage(t *testing.T) {
	for name, c := range map[string]struct {
		url  string
		want int
	}{
		"png":                    {dataURL(pngOf(t, 1024, 768)), 1049},
		"gif":                    {dataURL(gifOf(t, 300, 100)), 40},
		"jpeg":                   {dataURL(jpegOf(t, 640, 480)), 410},
		"lossy webp":             {dataURL(webp("VP8 ", "\x10\x00\x00\x9d\x01\x2a\x20\x43\x58\x42")), 640}, // 800 x 600, scale bits set
		"lossless webp":          {dataURL(webp("VP8L", "\x2f\x1f\xc3\x95\x00\x00\x00\x00\x00\x00")), 640}, // 799 | 599<<14
		"extended webp":          {dataURL(webp("VP8X", "\x00\x00\x00\x00\x1f\x03\x00\x57\x02\x00")), 640},
		"tiny":                   {dataURL(pngOf(t, 1, 1)), 1},
		"huge":                   {dataURL(pngHeader(20_000, 20_000)), 4500},
		"size above 31 bits":     {dataURL(pngHeader(0xffffffff, 0xffffffff)), 4500},
		"size with the sign bit": {dataURL(pngHeader(0x80000000, 2)), 4500},
		"no area":                {dataURL(pngHeader(0, 10)), 1},
		"upper case scheme":      {"DATA" + strings.TrimPrefix(dataURL(pngOf(t, 1024, 768)), "data"), 1049},
		"type that is wrong":     {strings.Replace(dataURL(pngOf(t, 1024, 768)), "image/png", "image/jpeg", 1), 1049},
		"body cut in the header": {dataURL(pngHeader(1024, 768)[:20]), 1200},
		"garbage after the size": {dataURL(pngHeader(1024, 768)) + "%%%", 1049},
		"size after a long exif": {dataURL(append([]byte("\xff\xd8\xff\xe1\x20\x00"), make([]byte, 9000)...)), 1200},
		"jpeg segment of length 0": {
			dataURL([]byte("\xff\xd8\xff\xe0\x00\x00\xff\xe0\x00\x00\xff\xe0\x00\x00")), 1200,
		},
		"web address":  {"https://example.org/a.png", 1200},
		"not base64":   {"data:image/png,abc", 1200},
		"empty":        {"", 1200},
		"only a comma": {",", 1200},
	} {
		if got := Image(c.url); got != c.want {
			t.Errorf("%s: Image = %d, want %d", name, got, c.want)
		}
	}
}

func TestImageReadsOnlyTheHead(t *testing.T) {
	url := dataURL(append(pngHeader(1024, 768), make([]byte, 8<<20)...))
	if n := testing.AllocsPerRun(10, func() { Image(url) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzImage(f *testing.F) {
	f.Add(pngHeader(1024, 768))
	f.Add(webp("VP8X", "\x00\x00\x00\x00\x1f\x03\x00\x57\x02\x00"))
	f.Add([]byte("\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x01\xe0\x02\x80"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := Image(dataURL(data)); got < 1 || got > maxImageTokens {
			t.Errorf("Image = %d", got)
		}
		Image(string(data))
	})
}

func dataURL(data []byte) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(data)
}

func pngOf(t *testing.T, width, height int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gifOf(t *testing.T, width, height int) []byte {
	var b bytes.Buffer
	picture := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black})
	if err := gif.Encode(&b, picture, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t *testing.T, width, height int) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngHeader(width, height uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	b = binary.BigEndian.AppendUint32(b, width)
	b = binary.BigEndian.AppendUint32(b, height)
	return append(b, 8, 6, 0, 0, 0)
}

func webp(chunk, data string) []byte {
	return []byte("RIFF\x00\x01\x00\x00WEBP" + chunk + "\x0a\x00\x00\x00" + data)
}
