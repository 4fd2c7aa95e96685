package browsertest_test

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var pictures = flag.String("pictures", "", "write pictures of the pages to this directory")

// shown are the pages of the pictures.
func shown() map[string]string {
	return map[string]string{
		"overview": "/", "jobs": "/jobs", "job": "/jobs/sync-crm", "job-clean": "/jobs/charge-subscriptions",
		"runs": "/runs", "dead": "/runs?state=dead&group=1", "targets": "/targets", "keys": "/keys", "processes": "/processes", "audit": "/audit",
		"act-pause": "/act/pause?job=charge-subscriptions", "act-ack": "/act/ack?job=sync-crm&state=dead",
		"act-backfill": "/act/backfill?job=refresh-exchange-rates&from=" + url.QueryEscape(time.Now().UTC().Add(-15*24*time.Hour).Format("2006-01-02 15:04")),
	}
}

// TestPictures writes a picture of each page, wide and narrow, light and dark.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("pictures are written on demand: make screenshots")
	}
	config, db := writePast(t, platform)
	s := serve(t, config, db, target(t, fine))
	b := open(t, s)
	b.look(1280, "light")
	b.visit("/runs?state=dead&job=sync-crm")
	dead := eval[string](b, "document.querySelector('td.lead a').getAttribute('href')")
	paths := shown()
	paths["run"] = dead
	for name, path := range paths {
		for _, look := range []struct {
			suffix, scheme string
			width          int64
		}{{"", "light", 1280}, {"-dark", "dark", 1280}, {"-narrow", "light", 360}} {
			b.look(look.width, look.scheme)
			b.visit(path)
			eval[bool](b, "document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))")
			must(t, os.WriteFile(filepath.Join(*pictures, name+look.suffix+".png"), small(t, b.picture()), 0o600))
		}
	}
}

// highest is where a picture of a long page is cut off.
const highest = 2000

// small writes a picture with 256 colors: its own most frequent ones, and some of
// each kind for the rare.
func small(t *testing.T, picture []byte) []byte {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(picture))
	must(t, err)
	shown := img.Bounds().Intersect(image.Rect(0, 0, img.Bounds().Dx(), highest))
	paletted := image.NewPaletted(shown, frequent(img))
	draw.Draw(paletted, shown, img, img.Bounds().Min, draw.Src)
	var out bytes.Buffer
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, paletted))
	return out.Bytes()
}

func frequent(img image.Image) color.Palette {
	counts := map[color.RGBA]int{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			counts[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	var out color.Palette
	for len(out) < 200 && len(counts) > 0 {
		var best color.RGBA
		for c, n := range counts {
			if n > counts[best] {
				best = c
			}
		}
		out = append(out, best)
		delete(counts, best)
	}
	return append(out, palette.WebSafe[:256-len(out)]...)
}
