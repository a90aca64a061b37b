package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// certificate is a pair of files for 127.0.0.1, and who trusts it.
func certificate(t *testing.T) (cert, key string, trusts *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	trusts = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trusts.AddCert(parsed)
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret), trusts
}

const goodPassword = "four plain words, spoken"

func TestPeopleAndProgramsAreLetInByTheCommandLine(t *testing.T) {
	t.Parallel()
	env := onDB(migrated(t))
	cert, key, trusts := certificate(t)
	s := serve(t, env, "--workers", "0", "--sign-in", "passwords", "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(s.url, "https://127.0.0.1:") || !strings.Contains(s.out.String(), s.url+"/set-up#") {
		t.Fatalf("printed %s", s.out.String())
	}
	runWith(t, env, "short\n", "user", "add", "ada").complains(t, exitUsage, "password: must have at least 15 characters")
	runWith(t, env, goodPassword+"\n", "user", "add", "ada", "--role", "operator", "--right", "reveal").wants(t, exitOK)
	runWith(t, env, goodPassword+"\n", "user", "add", "ada").complains(t, exitUsage, "name: is taken")
	runWith(t, env, goodPassword, "user", "passwd", "eve").complains(t, exitRefused, "nobody of the name eve")
	runWith(t, env, "", "user", "remove", "eve").complains(t, exitRefused, "nobody of the name eve")
	runWith(t, env, "", "user", "set", "ada", "--right", "fly").complains(t, exitUsage, "right: must be reveal or bulk")
	runWith(t, env, "", "user", "set", "ada", "--role", "operator", "--in-queue", "mail").wants(t, exitOK)
	listed := runWith(t, env, "", "user", "list", "--json").wants(t, exitOK).object(t)
	ada := listed["people"].([]any)[0].(map[string]any)
	same(t, "what ada may do", []any{ada["name"], ada["role"], ada["rights"], ada["queues"], ada["signs_in_with"], ada["signed_in_at"]}, "[ada operator [] [mail] password <nil>]")

	runWith(t, env, goodPassword+"\n", "user", "add", "root", "--role", "admin").wants(t, exitOK)
	for _, args := range [][]string{{"remove", "root"}, {"disable", "root"}, {"set", "root", "--role", "operator"}} {
		runWith(t, env, "", append([]string{"user"}, args...)...).complains(t, exitRefused, "root is the only admin whose account is enabled: make somebody else an admin first")
	}

	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusts}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	send := func(method, path, body string, header ...string) (int, http.Header, string) {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, resp.Header, string(text)
	}
	form := url.Values{"name": {"ada"}, "password": {goodPassword}}.Encode()
	code, header, _ := send("POST", "/sign-in", form, "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	if cookie := header.Get("Set-Cookie"); code != 303 || !strings.HasPrefix(cookie, "__Host-fenceline=") || !strings.Contains(cookie, "Secure") || header.Get("Strict-Transport-Security") == "" {
		t.Errorf("signing in: %d %v", code, header)
	}
	made := runWith(t, env, "", "token", "add", "ada", "ci", "--role", "operator", "--json").wants(t, exitOK).object(t)
	token := made["token"].(string)
	runWith(t, env, "", "token", "add", "ada", "ci").complains(t, exitUsage, "name: is taken by another token")
	runWith(t, env, "", "token", "add", "ada", "cd", "--expires", "400d").complains(t, exitUsage, "expires: must be")
	enqueue := func() int {
		code, _, _ := send("POST", "/api/v1/jobs", `{"kind":"noop","queue":"mail"}`, "Content-Type", "application/json", "Authorization", "Bearer "+token)
		return code
	}
	same(t, "an enqueue with the token", enqueue(), 201)
	tokens := runWith(t, env, "", "token", "list", "--json").wants(t, exitOK)
	if strings.Contains(tokens.out, token) || tokens.object(t)["tokens"].([]any)[0].(map[string]any)["used_at"] == nil {
		t.Errorf("%s", tokens.out)
	}
	runWith(t, env, "", "token", "add", "ada", "elsewhere", "--in-queue", "default").wants(t, exitOK)
	if list := runWith(t, env, "", "token", "list").wants(t, exitOK).out; !regexp.MustCompile(`ada/elsewhere +viewer +- +none `).MatchString(list) {
		t.Errorf("what acts nowhere seems to act everywhere: %s", list)
	}
	runWith(t, env, "", "user", "disable", "ada").wants(t, exitOK)
	same(t, "an enqueue for who is disabled", enqueue(), 401)
	if list := runWith(t, env, "", "user", "list").wants(t, exitOK).out; !strings.Contains(list, "disabled") {
		t.Errorf("%s", list)
	}
	runWith(t, env, "", "user", "enable", "ada").wants(t, exitOK)
	same(t, "an enqueue for who is enabled", enqueue(), 201)
	runWith(t, env, "", "user", "disable", "e v e").complains(t, exitRefused, "nobody of the name")
	code, _, _ = send("POST", "/sign-in", form, "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	same(t, "signing in again", code, 303)
	same(t, "sessions ended", runWith(t, env, "", "user", "sign-out", "ada", "--json").wants(t, exitOK).object(t)["ended"], 1)
	runWith(t, env, "", "token", "remove", "ada", "ci").wants(t, exitOK)
	runWith(t, env, "", "token", "remove", "ada", "ci").complains(t, exitRefused, "no token ci of ada")
	same(t, "an enqueue with the removed token", enqueue(), 401)
	runWith(t, env, "", "user", "remove", "ada").wants(t, exitOK)
	s.endInOrder()
	if log := s.err.String(); strings.Contains(log, token) || strings.Contains(log, goodPassword) {
		t.Error("the log holds a secret")
	}
}
