package jobs

func (a *Auth) fields() []fileField {
	return []fileField{
		{"type", required{word((*string)(&a.Type), AuthNone, AuthBearer, AuthOAuth2, AuthBasic, AuthHeaders, AuthJWT, AuthHMAC, AuthSigV4)},
			"bearer: a token; oauth2: client credentials; basic: user and password; headers: fields such as X-Api-Key; jwt: a " +
				"signed token for each call; hmac: Standard Webhooks; sigv4: AWS (IAM)."},
		{"token", secret{&a.Token}, "bearer: the token."},
		{"tokenUrlEnv", str(&a.TokenURLEnv), "oauth2: the variable with the token endpoint's URL."},
		{"clientId", secret{&a.ClientID}, "oauth2: the client ID."},
		{"clientSecret", secret{&a.ClientSecret}, "oauth2: the client secret."},
		{"username", secret{&a.Username}, "basic: the user name."},
		{"password", secret{&a.Password}, "basic: the password."},
		{"headers", secrets{&a.Headers}, "headers: the values by header field."},
		{"key", secret{&a.Key}, "jwt: the private key, Ed25519 or P-256 in PEM; cronce keys generate makes one."},
		{"nextKey", secret{&a.NextKey},
			"jwt: the private key of the next rotation. Its public key is published, and no call is signed with it."},
		{"audience", str(&a.Audience), "jwt: the audience; default the target's name."},
		{"secret", secret{&a.Secret}, "hmac: the signing secret: whsec_ and at least 24 bytes in base64."},
		{"nextSecret", secret{&a.NextSecret}, "hmac: a second secret; each call then has two signatures."},
		{"region", str(&a.Region), "sigv4: the target's AWS region."},
		{"service", str(&a.Service),
			"sigv4: execute-api (API Gateway), lambda (function URLs) or another service, but not s3."},
		{"accessKeyId", secret{&a.AccessKeyID}, "sigv4: the access key ID."},
		{"secretAccessKey", secret{&a.SecretAccessKey}, "sigv4: the secret access key."},
		{"sessionToken", secret{&a.SessionToken}, "sigv4: the session token of temporary credentials."},
	}
}
