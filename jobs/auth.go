package jobs

import (
	"maps"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/jobs/internal/field"
)

// Auth defines how calls to a target are authorized. It holds references to secrets,
// never the secrets. The comments name the type that each field belongs to.
type Auth struct {
	Type AuthType // default AuthNone

	Token              Secret            // bearer
	TokenURLEnv        string            // oauth2: the variable that holds the token endpoint's URL
	ClientID           Secret            // oauth2
	ClientSecret       Secret            // oauth2
	Username, Password Secret            // basic
	Headers            map[string]Secret // headers: values by name
	Key, NextKey       Secret            // jwt: private keys in PEM; NextKey is published but does not sign yet
	Audience           string            // jwt: the claim aud; default the target's name
	Secret, NextSecret Secret            // hmac; with NextSecret each call has two signatures
	Region, Service    string            // sigv4: the AWS region of the target, and the service that checks the signature
	AccessKeyID        Secret            // sigv4
	SecretAccessKey    Secret            // sigv4
	SessionToken       Secret            // sigv4: of temporary credentials
	RoutingKey         Secret            // routingKey
}

// AuthType is a way to authorize calls.
type AuthType string

const (
	AuthNone    AuthType = "none"    // no Authorization header
	AuthBearer  AuthType = "bearer"  // one token for all calls
	AuthOAuth2  AuthType = "oauth2"  // client credentials with the job's scopes (RFC 6749, section 4.4)
	AuthBasic   AuthType = "basic"   // user name and password (RFC 7617)
	AuthHeaders AuthType = "headers" // header fields with secret values, such as X-Api-Key
	AuthJWT     AuthType = "jwt"     // a token for each call, signed with a private key
	AuthHMAC    AuthType = "hmac"    // a signature of each call (Standard Webhooks)
	AuthSigV4   AuthType = "sigv4"   // a signature of each call for AWS (Signature Version 4)
	// AuthRoutingKey is the type of a PagerDuty channel, whose key is part of the body.
	AuthRoutingKey AuthType = "routingKey"
)

// authTypes are the types that a declared target can have.
var authTypes = []AuthType{AuthNone, AuthBearer, AuthOAuth2, AuthBasic, AuthHeaders, AuthJWT, AuthHMAC, AuthSigV4}

// form is the pattern of a secret's values.
type form int

const (
	formToken       form = iota // visible ASCII
	formUser                    // visible ASCII without a colon (RFC 7617, section 2)
	formField                   // visible ASCII and blanks within: a header field's value
	formKey                     // PEM: a key that signs
	formCertificate             // PEM
	formPrivateKey              // PEM: a key of any kind
)

// authField is a secret of an Auth.
type authField struct {
	name, holds string
	secret      Secret
	of          AuthType
	form        form
	optional    bool
}

// secrets returns all the secrets that a target's auth can have, set or not.
func (a Auth) secrets() []authField {
	list := []authField{
		{name: "token", holds: "the token", secret: a.Token, of: AuthBearer},
		{name: "clientId", holds: "the client's id", secret: a.ClientID, of: AuthOAuth2},
		{name: "clientSecret", holds: "the client's secret", secret: a.ClientSecret, of: AuthOAuth2},
		{name: "username", holds: "the user's name", secret: a.Username, of: AuthBasic, form: formUser},
		{name: "password", holds: "the password", secret: a.Password, of: AuthBasic, form: formField},
		{name: "key", holds: "the private key that signs", secret: a.Key, of: AuthJWT, form: formKey},
		{name: "routingKey", holds: "the integration key", secret: a.RoutingKey, of: AuthRoutingKey},
		{name: "nextKey", holds: "the private key that signs next", secret: a.NextKey, of: AuthJWT, form: formKey, optional: true},
		{name: "secret", holds: "the secret that signs", secret: a.Secret, of: AuthHMAC},
		{name: "nextSecret", holds: "the secret that signs too", secret: a.NextSecret, of: AuthHMAC, optional: true},
		{name: "accessKeyId", holds: "the access key's ID", secret: a.AccessKeyID, of: AuthSigV4},
		{name: "secretAccessKey", holds: "the secret access key", secret: a.SecretAccessKey, of: AuthSigV4},
		{name: "sessionToken", holds: "the session's token", secret: a.SessionToken, of: AuthSigV4, optional: true},
	}
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		list = append(list, authField{name: "headers." + name, holds: "the field's value", secret: a.Headers[name], of: AuthHeaders, form: formField})
	}
	return list
}

// at returns the field's path in the file.
func (f authField) at(path string) string {
	if name, is := strings.CutPrefix(f.name, "headers."); is {
		return field.Join(path+".headers", name)
	}
	return path + "." + f.name
}

func (d *draft) checkAuth(path string, a Auth) Auth {
	if a.Type == "" {
		a.Type = AuthNone
	}
	if !slices.Contains(authTypes, a.Type) {
		return a // reported already
	}
	if a.Type == AuthOAuth2 {
		d.checkVariable(path+".tokenUrlEnv", "tokenUrlEnv", a.TokenURLEnv, "the variable that holds the token endpoint's URL")
	} else if a.TokenURLEnv != "" {
		d.needless(path+".tokenUrlEnv", "tokenUrlEnv", AuthOAuth2, a.Type)
	}
	for _, f := range a.secrets() {
		at := f.at(path)
		switch {
		case a.Type != f.of && f.secret != (Secret{}):
			d.needless(at, f.name, f.of, a.Type)
		case a.Type == f.of && (f.secret != (Secret{}) || !f.optional):
			d.checkSecret(at, f)
		}
	}
	d.checkAWSName(path+".region", "region", "eu-central-1", a.Region, a.Type)
	d.checkAWSName(path+".service", "service", "execute-api", a.Service, a.Type)
	switch {
	case a.Type == AuthHeaders:
		d.checkHeaders(path, a.Headers)
	case a.Type == AuthJWT && a.Audience != "" && (!plaintext.VisibleASCII(a.Audience) || len(a.Audience) > 256):
		d.Add(path+".audience", CodeBadValue, "invalid audience; it has 1 to 256 visible ASCII characters")
	case a.Type != AuthJWT && a.Audience != "":
		d.needless(path+".audience", "audience", AuthJWT, a.Type)
	}
	return a
}

// checkAWSName checks the region or the service of auth type sigv4. S3 has another
// form of the signature.
func (d *draft) checkAWSName(path, name, example, value string, is AuthType) {
	switch {
	case is != AuthSigV4 && value != "":
		d.needless(path, name, AuthSigV4, is)
	case is != AuthSigV4:
	case value == "":
		d.Add(path, codeMissingField, "%s is missing; set it to the AWS %[1]s that the target is in, e.g. %[2]s", name, example)
	case strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(value) > 64:
		d.Add(path, codeBadName,
			"invalid %s %s; an AWS %[1]s has lower-case letters, digits and dashes, e.g. %[3]s", name, field.Quoted(value), example)
	case name == "service" && strings.HasPrefix(value, "s3"):
		d.Add(path, CodeBadValue, "service %s is not supported; its requests are signed in another form", value)
	}
}

func (d *draft) needless(path, name string, of, is AuthType) {
	d.Add(path, codeNeedlessField, "%s belongs to type: %s, but the type is %s; remove it or change the type", name, of, is)
}

func (d *draft) checkHeaders(path string, headers map[string]Secret) {
	if len(headers) == 0 {
		d.Add(path+".headers", codeMissingField,
			"headers is missing; set it to { X-Api-Key: { env: NAME } }, with a file or variable for each field")
	}
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		at, lower := field.Join(path+".headers", name), strings.ToLower(name)
		first, twice := seen[lower]
		seen[lower] = name
		switch {
		case !fieldName(name):
			d.Add(at, codeBadName, "invalid header name %s; a name has letters, digits and dashes", field.Quoted(name))
		case isOwnField(lower):
			d.Add(at, codeBadName, "the header %s is the call's own and cannot be set", name)
		case twice:
			d.Add(at, codeDuplicateName, "the headers %s and %s are one field; keep one", first, name)
		}
	}
}

// fieldName reports whether a name is a header field's (RFC 9110, section 5.1),
// in the characters that are in use.
func fieldName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !upper(c) && !lowerOrDigit(c) && c != '-' && c != '_' {
			return false
		}
	}
	return name != "" && len(name) <= 128
}
