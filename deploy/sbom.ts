/**
 * dpkg-query --show --showformat '${Package} ${Version} ${Architecture}\n' | node deploy/sbom.ts package-lock.json
 *
 * What an image is made of (CycloneDX 1.5): the packages of the lock file that are shipped, Debian's, and Node.js. The same contents give the same text.
 * `npm sbom --omit dev` of npm 11 leaves out what a package for development names as an optional peer, too.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
}

interface Lock {
  readonly version: string;
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  /** `sha512-BASE64`. */
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
}

const byReference = (a: Component, b: Component): number =>
  a['bom-ref'] < b['bom-ref'] ? -1 : 1;

const npmPurl = (name: string, version: string): string =>
  `pkg:npm/${name.replace('@', '%40')}@${version}`;

function npmComponents({ packages }: Lock): readonly Component[] {
  return Object.entries(packages).flatMap(([path, locked]) => {
    const { version = '', license, integrity = '', dev, optional, link } = locked;
    // Heddle itself, and the folders of its workspace, which are compiled into it.
    if (!path.startsWith('node_modules/') || link === true) return [];
    if (dev === true || optional === true) return [];
    const name = path.replace(/^.*node_modules\//, '');
    const [algorithm, content] = integrity.split('-');
    if (algorithm !== 'sha512' || content === undefined)
      throw new Error(`package-lock.json: ${path} has no sha512 integrity`);
    const purl = npmPurl(name, version);
    return [
      {
        'bom-ref': purl,
        type: 'library',
        name,
        version,
        purl,
        hashes: [{ alg: 'SHA-512', content: Buffer.from(content, 'base64').toString('hex') }],
        ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] }),
      },
    ];
  });
}

/** `name version architecture`, a line each. Throws for a line that is something else. */
function debianComponents(listed: string): readonly Component[] {
  const lines = listed.split('\n').filter((line) => line !== '');
  if (lines.length === 0) throw new Error('dpkg-query listed no package');
  return lines.map((line) => {
    const [name = '', version = '', architecture = '', ...more] = line.split(' ');
    if (architecture === '' || more.length > 0)
      throw new Error(`dpkg-query listed ${JSON.stringify(line)}, which is no package`);
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
    return { 'bom-ref': purl, type: 'library', name, version, purl };
  });
}

/** The bill of an image. `epoch`: seconds, the time that it says; it says none without. */
export function imageBom(
  lock: Lock,
  listed: string,
  node: string,
  epoch: number | undefined,
): object {
  const purl = `pkg:generic/node@${node}`;
  const components = [
    ...npmComponents(lock),
    ...debianComponents(listed),
    { 'bom-ref': purl, type: 'application', name: 'node', version: node, purl },
  ].toSorted(byReference);
  const digest = createHash('sha256').update(JSON.stringify(components)).digest('hex');
  // An RFC 9562 UUID of version 8, made of what it is the number of.
  const serial = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-a${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${serial}`,
    version: 1,
    metadata: {
      ...(epoch === undefined ? {} : { timestamp: new Date(epoch * 1000).toISOString() }),
      component: {
        'bom-ref': npmPurl('heddle', lock.version),
        type: 'application',
        name: 'heddle',
        version: lock.version,
        purl: npmPurl('heddle', lock.version),
      },
    },
    components,
  };
}

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  if (file === undefined) throw new Error('usage: sbom.ts package-lock.json < packages');
  const { SOURCE_DATE_EPOCH: epoch = '' } = process.env;
  const bom = imageBom(
    JSON.parse(readFileSync(file, 'utf8')) as Lock,
    readFileSync(0, 'utf8'),
    process.versions.node,
    epoch === '' ? undefined : Number(epoch),
  );
  process.stdout.write(`${JSON.stringify(bom, undefined, 2)}\n`);
}
