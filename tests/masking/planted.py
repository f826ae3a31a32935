"""Credentials of many kinds, none of them real. Each is put together here so that no scanner takes it for a leak."""

from __future__ import annotations

# Known by how they look, wherever they stand.
SHAPED = {
    "github token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "github app": "ghs_" + "Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2Rr1Qq0Pp9Oo8",
    "github fine-grained": "github_pat_" + "11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz012345",
    "gitlab token": "glpat-" + "xY3zAb9Cd2Ef7Gh1Ij4K",
    "aws key id": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws secret": "wJalrXUtnFEMI" + "/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "aws session": "IQoJb3JpZ2luX2VjEHoaCXVzLWVhc3QtMSJHMEUCIQDx" + "7Yq2Ks0mZ9bQ1wT",
    "openai": "sk-" + "proj-Abc123Def456Ghi789Jkl012",
    "anthropic": "sk-" + "ant-api03-Qw3Er5Ty7Ui9Op1As2Df4Gh6Jk8",
    "stripe": "sk_live_" + "51H8a9bCdEfGhIjKlMn",
    "slack": "xoxb-" + "123456789012-abcdefGHIJKL",
    "slack webhook": "https://hooks.slack.com/services/" + "T000/B000/XXXXsecretXXXX",
    "discord webhook": "https://discord.com/api/webhooks/" + "1234567890/abcDEF-ghiJKL_mno",
    "google api key": "AIza" + "SyA1234567890abcdefGHIJKLMNOPqrstuv",
    "google oauth": "ya29." + "a0AfH6SMBxyz1234567890",
    "google client": "GOCSPX-" + "aB3cD4eF5gH6iJ7kL8mN9oP0qR1s",
    "hugging face": "hf_" + "AbCdEfGhIjKlMnOpQrStUvWx",
    "pypi": "pypi-" + "AgEIcHlwaS5vcmcCJDEyMzQ1Njc4",
    "npm": "npm_" + "a1b2c3d4e5f6g7h8i9j0k1l2",
    "docker": "dckr_pat_" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9",
    "digitalocean": "dop_v1_" + "0123456789abcdef0123456789abcdef",
    "databricks": "dapi" + "0123456789abcdef0123456789abcdef",
    "sendgrid": "SG." + "abcdefghijkl1234" + ".mnopqrstuvwx5678",
    "vault": "hvs." + "CAESIJ0k1l2m3n4o5p6q7r8s9t",
    "replicate": "r8_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S",
    "telegram": "1234567890" + ":AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.s5vTjWqk2yRk",
    "random base64": "Zm9vYmFyMTIz" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldY",
    "random letters": "q7Zp2Lk9Xw4" + "Rt6Bv1Nm8Cy3Hd5Jf0",
    "url password": "https://alice:" + "s3cr3tpa55" + "@example.com/repo.git",
    "url token": "https://" + "tok3nTok3nTok3n" + "@example.com/simple",
    "url with a slash": "postgres://bob:" + "pa/ss55w0rd" + "@example.com/db",
    "login of a host": "carol:" + "h0stl0gin77" + "@db.example.com",
}
# Known by the name in front of them.
NAMED = {
    "query token": "https://example.com/data?token=" + "qu3ryS3cret&page=2",
    "query signature": "https://example.com/blob?sv=2020&sig=" + "s1gNature%2Fvalue%3D",
    "named password": "password=" + "hunter2hunter2",
    "api key": 'api_key: "' + "justlettersinhere" + '"',
    "header": "X-Api-Key: " + "headerkeyvalue9",
    "bearer": "Bearer " + "abc123def456ghi789",
    "basic": "Authorization: Basic " + "YWxpY2U6b3BlbnNlc2FtZQ==",
    "cookie": "Cookie: sid=" + "c00kievalue; theme=dark",
    "connection string": "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=" + "accountkeyvalue12==;Suffix=net",
    "json": '{"client_secret": "' + "jsonclientsecret" + '", "n": 1}',
    "escaped json": '{\\"refresh_token\\": \\"' + "escapedtokenvalue" + '\\"}',
    "xml": "<password>" + "xmlpasswordvalue" + "</password>",
    "yaml": "passphrase: " + "correct horse battery staple",
    "weights and biases": "wandb login " + "0123456789abcdef0123456789abcdef01234567",
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA " + "PRIVATE KEY-----",
}  # fmt: skip
# What of each must never be seen again, where that is not all of it.
_PARTS = {
    "slack webhook": "XXXXsecretXXXX",
    "discord webhook": "abcDEF-ghiJKL_mno",
    "url password": "s3cr3tpa55",
    "url token": "tok3nTok3nTok3n",
    "url with a slash": "ss55w0rd",
    "login of a host": "h0stl0gin77",
    "query token": "qu3ryS3cret",
    "query signature": "s1gNature",
    "named password": "hunter2hunter2",
    "api key": "justlettersinhere",
    "header": "headerkeyvalue9",
    "bearer": "abc123def456ghi789",
    "basic": "YWxpY2U6b3BlbnNlc2FtZQ",
    "cookie": "c00kievalue",
    "connection string": "accountkeyvalue12",
    "json": "jsonclientsecret",
    "escaped json": "escapedtokenvalue",
    "xml": "xmlpasswordvalue",
    "yaml": "horse battery",
    "weights and biases": "0123456789abcdef0123456789abcdef01234567",
    "private key": "MIIEowIBAAKCAQEA",
}
KINDS = {**SHAPED, **NAMED}
NEEDLES = {kind: _PARTS.get(kind, text) for kind, text in KINDS.items()}
# Like any other word, and known by the option or the variable that they are given in alone.
GIVEN = {
    "--key": "maryhadalamb7", "--pw": "littlelamb8x", "-p": "fleecewas9w", "--pat": "whiteas10snow", "--auth": "andevery11w",
    "--user": "mary:went12there", "--api-key": "lamb13wassure", "--token": "togo14there", "--dsn": "itfollowed15her",
    "--secret": "toschool16oneday", "--passphrase": "which17was", "--aws-secret-access-key": "against18therule",
}  # fmt: skip
VARIABLES = {
    "DB_PASSWORD": "itmade19thechildren",
    "SLACK_TOKEN": "laughand20play",
    "MY_KEY": "tosee21alamb",
    "SVC_AUTH": "atschool22x",
}
# Nothing tells these from data.
DOUBTFUL = {"--name": "swordfish", "--run": "letmein99", "--tag": "opensesame"}
