package request

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/worker"
)

func TestOnlyPublicAndAllowedAddressesAreDialled(t *testing.T) {
	t.Parallel()
	dial := guard(prefixes("10.1.0.0/16", "fd00:1::/32"))
	for address, want := range map[string]bool{
		"8.8.8.8": true, "172.32.0.1": true, "100.128.0.1": true, "[2606:4700::1111]": true, "[2001:4860:4860::8888]": true,
		"10.1.2.3": true, "[fd00:1::1]": true, "[::ffff:8.8.8.8]": true,
		"127.0.0.1": false, "127.255.0.1": false, "10.2.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "100.100.100.200": false, "0.0.0.0": false, "0.1.2.3": false, "224.0.0.1": false,
		"240.0.0.1": false, "255.255.255.255": false, "192.0.2.1": false, "198.51.100.1": false, "203.0.113.1": false, "198.18.0.1": false,
		"192.0.0.192": false, "192.88.99.1": false, "168.63.129.16": false,
		"[::]": false, "[::1]": false, "[::8.8.8.8]": false, "[::ffff:127.0.0.1]": false, "[::ffff:10.2.0.1]": false, "[fe80::1%eth0]": false,
		"[fd00:ec2::254]": false, "[ff02::1]": false, "[fec0::1]": false, "[64:ff9b::7f00:1]": false, "[64:ff9b::808:808]": false,
		"[64:ff9b:1::1]": false, "[2002:7f00:1::]": false, "[2001:0:1::1]": false, "[2001:db8::1]": false, "[3fff::1]": false, "[100::1]": false,
	} {
		if got := dial("tcp", address+":443", nil) == nil; got != want {
			t.Errorf("%s may be dialled: %t, want %t", address, got, want)
		}
	}
	if dial("tcp", "localhost:80", nil) == nil {
		t.Error("a name may be dialled")
	}
}

func TestAPathStaysBelowItsTarget(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "a", "a/b/", "invoices/7", "a%20b", "v1/users:batch", "a;v=1", "~x/-_.y/...", "%C3%A9"} {
		if err := CheckPath(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	for path, want := range map[string]string{
		"/a": "begin with a slash", "//host/a": "begin with a slash", "a//b": "two slashes", "..": `".."`, "a/../b": `".."`, "a/.": `"."`,
		"..;x/a": `".."`, "https://host/": "colon", "x:y": "colon", "a?b": "percent-encoded", "a#b": "percent-encoded", "a b": "percent-encoded",
		"a\nb": "percent-encoded", "é": "percent-encoded", `a\b`: "percent-encoded", "a%": "hexadecimal", "a%2": "hexadecimal", "%zz": "hexadecimal",
		"%2e%2e/a": "percent-encoded slash", "a%2Fb": "percent-encoded slash", "a%5cb": "percent-encoded slash", "%0d%0a": "control character",
		"%252e": "percent sign", "%00": "control character", strings.Repeat("a", maxPath+1): "limit",
	} {
		if err := CheckPath(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
}

func TestTargetsThatAreWrongAreRefusedByTheirFieldAndNotQuoted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(file, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	ok := "https://example.org/canary"
	for want, target := range map[string]Target{
		"url: is required":             {},
		"url: is not a URL":            {URL: "https://canary:x\x7f/"},
		"url: must begin with https":   {URL: "ftp://canary"},
		"url: has no host":             {URL: "https:///canary"},
		"url: must not hold a user":    {URL: "https://canary:canary@example.org"},
		"url: must not hold a fragm":   {URL: "https://example.org/canary#"},
		"url: is at an address that":   {URL: "http://[::1]/canary"},
		"headers: Idempotency-Key is":  {URL: ok, Headers: map[string]string{"idempotency-KEY": "canary"}},
		"headers: Fenceline-Job is se": {URL: ok, Headers: map[string]string{"Fenceline-Job": "canary"}},
		"headers: Content-Type is set": {URL: ok, Headers: map[string]string{"content-type": "canary"}},
		"headers: User-Agent is set b": {URL: ok, Headers: map[string]string{"user-agent": "canary"}},
		"headers: Host is set by":      {URL: ok, Headers: map[string]string{"host": "canary"}},
		"headers: X-A holds a control": {URL: ok, Headers: map[string]string{"x-a": "canary\r\nb: c"}},
		"headers: X-A is given twice":  {URL: ok, Headers: map[string]string{"x-a": "canary", "X-A": "canary"}},
		`headers: "a b" is not the`:    {URL: ok, Headers: map[string]string{"a b": "canary"}},
		"fields: a: is not JSON":       {URL: ok, Fields: map[string]json.RawMessage{"a": json.RawMessage(`canary`)}},
		"secret: is not base64":        {URL: ok, Secret: "whsec_canary!"},
		"timeout: 1ms must be between": {URL: ok, Timeout: time.Millisecond},
		"ca_file: holds no certific":   {URL: ok, CAFile: file},
		"ca_file: stat /no/such":       {URL: ok, CAFile: "/no/such"},
	} {
		err := Register(worker.New(nil, worker.Config{}), map[string]Target{"it": target, "fine": {URL: ok}})
		if err == nil || !strings.HasPrefix(err.Error(), "targets.it."+want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("Register = %v, want %q", err, want)
		}
	}
	if err := Check(map[string]Target{"a b": {URL: ok}}); err == nil || !strings.Contains(err.Error(), `targets: "a b"`) {
		t.Error(err)
	}
	if err := Check(map[string]Target{"it": {URL: "http://10.0.0.1", Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}); err != nil {
		t.Error(err)
	}
	p := worker.New(nil, worker.Config{})
	if err := Register(p, nil); err != nil {
		t.Error(err)
	}
	if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no kind") {
		t.Errorf("without targets the kind is handled: %v", err)
	}
}

func TestWhatRetryAfterAsksForIsGrantedWithinAnHour(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "90": 90 * time.Second, "0": 0, "-5": 0, "soon": 0, "999999999999": time.Hour, "9999999999999999999999": 0,
		now.Add(2 * time.Minute).Format(http.TimeFormat): 2 * time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
		now.Add(48 * time.Hour).Format(http.TimeFormat): time.Hour,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	theirs := http.Header{"Retry-After": {now.Add(time.Minute).Format(http.TimeFormat)}, "Date": {now.Add(30 * time.Second).Format(http.TimeFormat)}}
	if got := retryAfter(theirs, now); got != 30*time.Second {
		t.Errorf("by their clock: %s", got)
	}
}
