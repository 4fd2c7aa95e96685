package targets_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/targets"
)

func TestJoin(t *testing.T) {
	for _, c := range []struct{ rule, base, path, want string }{
		{"under the root", "https://h", "/a", "https://h/a"},
		{"under a slash", "https://h/", "/a", "https://h/a"},
		{"under a prefix", "https://h/p", "/a", "https://h/p/a"},
		{"under a prefix with a slash", "https://h/p/", "/a", "https://h/p/a"},
		{"the final slash stays", "https://h", "/a/", "https://h/a/"},
		{"an empty segment stays", "https://h", "/a//b", "https://h/a//b"},
		{"escapes stay escaped", "https://h", "/a%2Fb%20c", "https://h/a%2Fb%20c"},
		{"escapes of the prefix too", "https://h/p%2Fq", "/a", "https://h/p%2Fq/a"},
		{"the query stays", "https://h", "/a?b=c&b=%2e%2e/&d", "https://h/a?b=c&b=%2e%2e/&d"},
		{"a second question mark is the query's", "https://h", "/a?b?c", "https://h/a?b?c"},
		{"three dots are a name", "https://h", "/.../a..b/.c", "https://h/.../a..b/.c"},
		{"relative", "https://h", "a", ""},
		{"empty", "https://h", "", ""},
		{"only a query", "https://h", "?a", ""},
		{"another URL", "https://h", "https://evil/a", ""},
		{"another host", "https://h", "//evil/a", ""},
		{"another host with backslashes", "https://h", "/\\evil/a", ""},
		{"user information", "https://h", "@evil/a", ""},
		{"dots", "https://h/p", "/../a", ""},
		{"dots at the end", "https://h/p", "/a/..", ""},
		{"a dot", "https://h/p", "/./a", ""},
		{"escaped dots", "https://h/p", "/%2e%2e/a", ""},
		{"half escaped dots", "https://h/p", "/.%2E/a", ""},
		{"dots between escaped slashes", "https://h/p", "/a%2f..%2fb", ""},
		{"dots between escaped backslashes", "https://h/p", "/a%5c..%5cb", ""},
		{"a fragment", "https://h", "/a#b", ""},
		{"a fragment after the query", "https://h", "/a?b#c", ""},
		{"a space", "https://h", "/a b", ""},
		{"a line break", "https://h", "/a\r\nX: y", ""},
		{"a line break in the query", "https://h", "/a?b\r\nX: y", ""},
		{"a letter beyond ASCII", "https://h", "/ä", ""},
		{"a bad escape", "https://h", "/%zz", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			base, err := url.Parse(c.base)
			if err != nil {
				t.Fatal(err)
			}
			got, err := targets.Join(base, c.path)
			if c.want == "" {
				if err == nil {
					t.Errorf("%q gave %s", c.path, got)
				}
				return
			}
			if err != nil || got.String() != c.want {
				t.Errorf("got %v, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestEverythingWrongComesAtOnceAndShowsNoValue(t *testing.T) {
	registry, err := jobs.NewRegistry(jobs.Name("acme"),
		jobs.Target{Name: "a", URLEnv: "A_URL", Auth: jobs.Auth{Type: jobs.AuthBearer, Token: jobs.Secret{Env: "A_TOKEN"}}},
		jobs.Target{Name: "b", URLEnv: "B_URL", AllowHTTP: true, Auth: jobs.Auth{Type: jobs.AuthOAuth2, TokenURLEnv: "B_TOKEN_URL", ClientID: jobs.Secret{Env: "B_ID"}, ClientSecret: jobs.Secret{Env: "B_SECRET"}}},
		jobs.Target{Name: "c", URLEnv: "C_URL"},
	)
	if err != nil {
		t.Fatal(err)
	}
	e := env{
		"A_URL": "https://u:s3cret@a.example", "A_TOKEN": "s3cret\n",
		"B_URL": "http://b.example", "B_TOKEN_URL": "http://s3cret.example/token", "B_ID": "", "B_SECRET": "s3c ret",
	}
	_, err = targets.New(targets.Config{Registry: registry, Lookup: e.lookup, Version: "1"})
	var problems jobs.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got %v, want jobs.Problems", err)
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.Code)
	}
	want := []string{jobs.CodeBadURL, jobs.CodeBadSecret, jobs.CodeInsecureURL, jobs.CodeUnsetVariable, jobs.CodeBadSecret, jobs.CodeUnsetVariable}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("codes %v, want %v\n%v", got, want, err)
	}
	if strings.Contains(err.Error(), "s3c") {
		t.Errorf("it shows a secret: %v", err)
	}
}

func FuzzJoin(f *testing.F) {
	for _, seed := range []string{"/a", "/../a", "/%2e%2e/a", "//h/a", "/a?b=c", "/a\r\nX: y", "/%5c..%5c", "/a%00", "/{x}"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://host.example/prefix")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := targets.Join(base, path)
		if err != nil {
			return
		}
		if u.Host != base.Host || u.Scheme != base.Scheme || u.User != nil {
			t.Fatalf("%q left the host: %s", path, u)
		}
		if strings.ContainsAny(u.RequestURI(), " \r\n\t#") {
			t.Fatalf("%q gives the request line %q", path, u.RequestURI())
		}
		again, err := url.Parse(u.String())
		if err != nil || again.Host != base.Host {
			t.Fatalf("%q reads as %v, %v", path, again, err)
		}
		if clean := again.JoinPath().EscapedPath(); !strings.HasPrefix(clean, "/prefix/") {
			t.Fatalf("%q left the prefix: %s", path, clean)
		}
	})
}

func TestADisabledJobsVariableMayBeUnset(t *testing.T) {
	for _, disabled := range []bool{true, false} {
		r, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Job{ID: "j", Schedule: "@daily", TargetURLEnv: "UNSET_URL", Path: "/x", Disabled: disabled})
		if err != nil {
			t.Fatal(err)
		}
		ts, err := targets.New(targets.Config{Registry: r, Lookup: env{}.lookup})
		if (err == nil) != disabled {
			t.Errorf("disabled %t: %v", disabled, err)
		}
		if err != nil {
			continue
		}
		c := call()
		c.Call.Target = "env:UNSET_URL"
		if got := attempt(t, ts, c, maxWait); !got.Unsent {
			t.Errorf("answer %+v, want one that was not sent", got)
		}
		ts.Close()
	}
}
