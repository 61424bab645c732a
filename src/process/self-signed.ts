/** Certificates of our own making, by openssl: Node.js can't make any. */
import { execFile } from 'node:child_process';
import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';

export interface TlsIdentity {
  /** PEM; its own authority. */
  readonly certificate: string;
  readonly key: string;
}

const OPENSSL_LIMIT = 30_000;

/** Whether a certificate is one for `host`, a name or an address. */
export const namesHost = (certificate: X509Certificate, host: string): boolean =>
  (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;

/** A new key, and a certificate for it that names `host`. `what` it is for is its common name, and what errors begin with. */
export async function selfSigned(what: string, host: string, days: number): Promise<TlsIdentity> {
  const { stdout } = await promisify(execFile)(
    'openssl',
    [
      'req',
      '-x509',
      '-nodes',
      '-newkey=ec',
      '-pkeyopt=ec_paramgen_curve:prime256v1',
      `-days=${days}`,
      `-subj=/CN=heddle ${what}`,
      `-addext=subjectAltName=${isIP(host) === 0 ? 'DNS' : 'IP'}:${host}`,
      '-keyout=-',
      '-out=-',
    ].flatMap(splitOption),
    { timeout: OPENSSL_LIMIT },
  ).catch((error: unknown) => {
    throw new Error(`certificate of the ${what}: openssl: ${String(error)}`, { cause: error });
  });
  const part = (name: string): string => {
    const found = new RegExp(`-----BEGIN ${name}-----[^-]+-----END ${name}-----\n`).exec(stdout);
    if (found === null) throw new Error(`certificate of the ${what}: openssl printed no ${name}`);
    return found[0];
  };
  return { certificate: part('CERTIFICATE'), key: part('PRIVATE KEY') };
}

/** openssl wants an option and its value apart. */
const splitOption = (option: string): string[] => {
  const at = option.indexOf('=');
  return at === -1 ? [option] : [option.slice(0, at), option.slice(at + 1)];
};
