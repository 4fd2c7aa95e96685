package jobs

import "github.com/cronce/cronce/jobs/internal/field"

// Fields returns the fields that the registry file has for it.
func (s *Secret) Fields() []field.Row {
	return []field.Row{
		field.Of("env", field.Text(&s.Env), "The environment variable that holds the secret. In a Lambda it may hold "+
			`{"secretsManager":"ARN"} or {"ssm":"NAME"}.`),
		field.Of("file", field.Text(&s.File), "Absolute path of the file that holds the secret, without a line break at its end; "+
			"read again when it changes, see identity.md."),
	}
}

// Fields returns the fields that the registry file has for it.
func (a *Auth) Fields() []field.Row {
	return []field.Row{
		field.Of("type", field.Required(field.Word((*string)(&a.Type), authTypes...)),
			"How calls are authorized; see identity.md. A field below is for the type that its text begins with."),
		field.Of("token", field.Shared(&a.Token), "bearer: the token."),
		field.Of("tokenUrlEnv", field.Text(&a.TokenURLEnv), "oauth2: the variable with the token endpoint's URL."),
		field.Of("clientId", field.Shared(&a.ClientID), "oauth2: the client ID."),
		field.Of("clientSecret", field.Shared(&a.ClientSecret), "oauth2: the client secret."),
		field.Of("username", field.Shared(&a.Username), "basic: the user name."),
		field.Of("password", field.Shared(&a.Password), "basic: the password."),
		field.Of("headers", field.ByName(func() field.Fielded { return new(Secret) }, a.header), "headers: the values by header field."),
		field.Of("key", field.Shared(&a.Key), "jwt: the private key, Ed25519 or P-256 in PEM; cronce keys generate makes one."),
		field.Of("nextKey", field.Shared(&a.NextKey),
			"jwt: the private key of the next rotation, whose public key is published already."),
		field.Of("audience", field.Text(&a.Audience), "jwt: the audience; default the target's name."),
		field.Of("secret", field.Shared(&a.Secret), "hmac: the signing secret: whsec_ and at least 24 bytes in base64."),
		field.Of("nextSecret", field.Shared(&a.NextSecret), "hmac: a second secret; each call then has two signatures."),
		field.Of("region", field.Text(&a.Region), "sigv4: the target's AWS region."),
		field.Of("service", field.Text(&a.Service),
			"sigv4: execute-api (API Gateway), lambda (function URLs) or another service, but not s3."),
		field.Of("accessKeyId", field.Shared(&a.AccessKeyID), "sigv4: the access key ID."),
		field.Of("secretAccessKey", field.Shared(&a.SecretAccessKey), "sigv4: the secret access key."),
		field.Of("sessionToken", field.Shared(&a.SessionToken), "sigv4: the session token of temporary credentials."),
	}
}

func (a *Auth) header(name string, secret field.Fielded) {
	if a.Headers == nil {
		a.Headers = map[string]Secret{}
	}
	a.Headers[name] = *secret.(*Secret)
}
