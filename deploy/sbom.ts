/**
 * dpkg-query --show --showformat '${Package} ${Version} ${Architecture}\n' | node deploy/sbom.ts package-lock.json dist/NOTICES
 *
 * What an image is made of (CycloneDX 1.5): the npm packages that were compiled into it, as the notices name them, Debian's, and Node.js. The same
 * contents give the same text.
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
}

const byReference = (a: Component, b: Component): number =>
  a['bom-ref'] < b['bom-ref'] ? -1 : 1;

const npmPurl = (name: string, version: string): string =>
  `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** Packages in a compiled command, which its notices begin with the names of: `ajv 8.20.0 (MIT)`. */
const compiledIn = (notices: string): readonly string[] =>
  notices
    .split(/^-{80}$/m)
    .map((text) => /^(\S+ \S+) \(.*\)$/.exec(text.trim().split('\n', 1)[0] ?? '')?.[1] ?? '');

/** Throws for a package that the lock file does not have. */
function npmComponents({ packages }: Lock, notices: string): readonly Component[] {
  const locked = new Map(
    Object.entries(packages).map(([path, one]) => [
      `${path.replace(/^.*node_modules\//, '')} ${one.version ?? ''}`,
      one,
    ]),
  );
  return compiledIn(notices).map((text) => {
    const [name = '', version = ''] = text.split(' ');
    const { license, integrity = '' } = locked.get(text) ?? {};
    const [algorithm, content] = integrity.split('-');
    if (algorithm !== 'sha512' || content === undefined)
      throw new Error(
        `package-lock.json has no sha512 integrity of ${JSON.stringify(text)}, which the notices name`,
      );
    const purl = npmPurl(name, version);
    return {
      'bom-ref': purl,
      type: 'library',
      name,
      version,
      purl,
      hashes: [{ alg: 'SHA-512', content: Buffer.from(content, 'base64').toString('hex') }],
      ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] }),
    };
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

/** The bill of an image. `notices`: of the compiled command; `epoch`: seconds, the time that it says; it says none without. */
export function imageBom(
  lock: Lock,
  notices: string,
  listed: string,
  node: string,
  epoch: number | undefined,
): object {
  const purl = `pkg:generic/node@${node}`;
  const components = [
    ...npmComponents(lock, notices),
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
  const [file, notices] = process.argv.slice(2);
  if (file === undefined || notices === undefined)
    throw new Error('usage: sbom.ts package-lock.json dist/NOTICES < packages');
  const { SOURCE_DATE_EPOCH: epoch = '' } = process.env;
  const bom = imageBom(
    JSON.parse(readFileSync(file, 'utf8')) as Lock,
    readFileSync(notices, 'utf8'),
    readFileSync(0, 'utf8'),
    process.versions.node,
    epoch === '' ? undefined : Number(epoch),
  );
  process.stdout.write(`${JSON.stringify(bom, undefined, 2)}\n`);
}
