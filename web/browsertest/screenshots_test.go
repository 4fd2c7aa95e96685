package browsertest_test

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var pictures = flag.String("pictures", "", "write pictures of the pages to this directory")

// shown returns the address of each picture that docs/dashboard.md and README.md show.
func shown() map[string]string {
	from := time.Now().UTC().Add(-15 * 24 * time.Hour).Format("2006-01-02 15:04")
	return map[string]string{
		"overview":     "/",
		"act-backfill": "/actions/backfill?job=refresh-exchange-rates&from=" + url.QueryEscape(from),
	}
}

// TestPictures writes the pictures of the documentation.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("pictures are written on demand: make screenshots")
	}
	config, db := writePast(t, platform, 90)
	s := serve(t, config, db, target(t, fine))
	b := open(t, s)
	b.look(1280, "light")
	for name, path := range shown() {
		b.visit(path)
		eval[bool](b, "scrollTo(0, 0); document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))")
		must(t, os.WriteFile(filepath.Join(*pictures, name+".png"), small(t, b.picture()), 0o600))
	}
}

// highest is where a picture of a long page is cut off.
const highest = 2000

// small writes a picture with 256 colors at most.
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

// frequent are the colors of a palette: the most frequent first, each as far from
// those before it as is needed to have at most 256.
func frequent(img image.Image) color.Palette {
	counts := map[color.RGBA]int{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			counts[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	byCount := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(hue(a), hue(b)))
	})
	for apart := 0; ; apart += 2 {
		var out color.Palette
		for _, c := range byCount {
			if !slices.ContainsFunc(out, func(o color.Color) bool { return near(o.(color.RGBA), c, apart) }) {
				out = append(out, c)
			}
			if len(out) > 256 {
				break
			}
		}
		if len(out) <= 256 {
			return out
		}
	}
}

func hue(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }

func near(a, b color.RGBA, apart int) bool {
	for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
		if d > apart || d < -apart {
			return false
		}
	}
	return true
}
