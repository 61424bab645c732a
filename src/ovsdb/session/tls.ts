import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import {
  createSecureContext,
  type ConnectionOptions,
  type PeerCertificate,
  type SecureContextOptions,
  type TLSSocket,
  type TlsOptions as TlsOptionsOfServer,
} from 'node:tls';
import { OvsdbError } from '../data/error.ts';

/** Files and rules for TLS, as `--private-key`, `--certificate`, `--ca-cert` and `--bootstrap-ca-cert` of Open vSwitch. */
export interface TlsOptions {
  readonly privateKey: string;
  readonly certificate: string;
  /** CA certificates that the peer's chain must lead to. */
  readonly caCertificate: string;
  /** Accept the peer's chain once and store its CA when the CA file does not exist yet. */
  readonly bootstrap?: boolean;
  /** Also require that the certificate names the host. Open vSwitch peers pin the CA and don't. */
  readonly checkHostName?: boolean;
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
}

function read(what: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new OvsdbError('bad remote', `the ${what} ${path} can't be read`, { cause: error });
  }
}

/** Reads the files anew for each connection, so that renewed certificates are used. */
export class TlsSettings {
  readonly #options: TlsOptions;
  #bootstrapped = false;

  constructor(options: TlsOptions) {
    this.#options = options;
  }

  /** True while the CA is still to be learnt from the peer. */
  get isBootstrapping(): boolean {
    const { bootstrap, caCertificate } = this.#options;
    return bootstrap === true && !this.#bootstrapped && !existsSync(caCertificate);
  }

  /** Throws `bad remote` when the files are no key and certificates, or do not belong together. */
  #checked<T extends SecureContextOptions>(options: T): T {
    try {
      createSecureContext(options);
    } catch (error) {
      const { privateKey, certificate, caCertificate } = this.#options;
      const why = error instanceof Error ? error.message : String(error);
      throw new OvsdbError(
        'bad remote',
        `the private key ${privateKey}, the certificate ${certificate} and the CA certificate ${caCertificate} can't be used together: ${why}`,
        { cause: error },
      );
    }
    return options;
  }

  /** Throws `bad remote` when a file can't be read, or does not go with the others. */
  connectionOptions(host?: string): ConnectionOptions {
    const { privateKey, certificate, caCertificate, checkHostName, minVersion } = this.#options;
    const isBootstrapping = this.isBootstrapping;
    return this.#checked({
      key: read('private key', privateKey),
      cert: read('certificate', certificate),
      ...(isBootstrapping ? {} : { ca: read('CA certificate', caCertificate) }),
      rejectUnauthorized: !isBootstrapping,
      minVersion: minVersion ?? 'TLSv1.2',
      ...(checkHostName === true
        ? // An address is no name for SNI (RFC 6066 §3); the certificate is compared with it all the same.
          host === undefined || isIP(host) !== 0
          ? {}
          : { servername: host }
        : { checkServerIdentity: () => undefined }),
    });
  }

  /** For waiting on a port: the peer must show a certificate of our CA. */
  serverOptions(): TlsOptionsOfServer {
    const { privateKey, certificate, caCertificate, minVersion } = this.#options;
    return this.#checked({
      key: read('private key', privateKey),
      cert: read('certificate', certificate),
      ca: read('CA certificate', caCertificate),
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: minVersion ?? 'TLSv1.2',
    });
  }

  /**
   * Stores the CA that the peer's chain ends in. Throws `bad remote` unless that certificate signed itself. The connection must
   * then be made anew, with full verification.
   */
  bootstrap(socket: TLSSocket): void {
    let top: PeerCertificate = socket.getPeerCertificate(true);
    while ('issuerCertificate' in top) {
      const issuer = (top as { issuerCertificate?: PeerCertificate }).issuerCertificate;
      if (issuer === undefined || issuer === top || issuer.fingerprint256 === top.fingerprint256)
        break;
      top = issuer;
    }
    const isSelfSigned =
      top.subject !== undefined && JSON.stringify(top.subject) === JSON.stringify(top.issuer);
    if (!isSelfSigned) {
      throw new OvsdbError(
        'bad remote',
        'the server sends no self-signed CA certificate, so it can not be used for bootstrapping; copy the CA certificate by hand',
      );
    }
    const { caCertificate } = this.#options;
    const body = top.raw.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
    const temporary = `${caCertificate}.${process.pid}.new`;
    writeFileSync(temporary, `-----BEGIN CERTIFICATE-----\n${body}-----END CERTIFICATE-----\n`, {
      mode: 0o644,
    });
    renameSync(temporary, caCertificate);
    this.#bootstrapped = true;
  }
}
