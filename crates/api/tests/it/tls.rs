//! TLS on loopback with a certificate created for the test.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use wh_api::{Address, Client, Error, Routes};

#[tokio::test]
async fn a_trusted_certificate_is_required() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _ = stream.read(&mut [0; 4096]).await;
            let body = r#"{"ok":true,"version":"1","uptime":3}"#;
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    let builder = Client::builder(Address::parse(&format!("https://localhost:{port}")).unwrap()).records(None);
    let error = builder.clone().build().unwrap().health().await.unwrap_err();
    assert!(matches!(&error, Error::Unreachable { problem, .. } if problem.contains("certificate")), "{error}");
    let client = builder.certificate(certified.cert.pem()).build().unwrap();
    assert_eq!(client.health().await.unwrap().uptime, 3);
}
