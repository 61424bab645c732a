import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files of one party: its key, its certificate, and the CA that signed it. */
export interface Identity {
  readonly privateKey: string;
  readonly certificate: string;
  readonly caCertificate: string;
}

const openssl = (folder: string, ...args: readonly string[]): void => {
  execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
};

/** A certificate authority in a folder. */
export class Authority {
  readonly #folder: string;
  readonly #name: string;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
    openssl(
      folder,
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '10',
      '-subj',
      `/CN=${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.pem`,
    );
  }

  get certificate(): string {
    return join(this.#folder, `${this.#name}.pem`);
  }

  /** A key and a certificate; `days` may be negative: already expired. The chain file holds the CA, too. */
  issue(name: string, days = 5): Identity {
    const at = (file: string): string => join(this.#folder, file);
    writeFileSync(at('index.txt'), '');
    openssl(
      this.#folder,
      'req',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-subj',
      `/CN=${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
    );
    const date = (day: number): string =>
      `${new Date(Date.now() + day * 86_400_000).toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`;
    writeFileSync(
      at('ca.cnf'),
      `[ca]\ndefault_ca=it\n[it]\ndatabase=${at('index.txt')}\nnew_certs_dir=${this.#folder}\nrand_serial=yes\ndefault_md=sha256\npolicy=any\nunique_subject=no\n[any]\ncommonName=supplied\n`,
    );
    openssl(
      this.#folder,
      'ca',
      '-batch',
      '-config',
      'ca.cnf',
      '-cert',
      `${this.#name}.pem`,
      '-keyfile',
      `${this.#name}.key`,
      '-startdate',
      date(Math.min(days, 0) - 2),
      '-enddate',
      date(days),
      '-notext',
      '-in',
      `${name}.csr`,
      '-out',
      `${name}.pem`,
    );
    return {
      privateKey: at(`${name}.key`),
      certificate: at(`${name}.pem`),
      caCertificate: this.certificate,
    };
  }
}
