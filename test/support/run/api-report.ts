/** The public interface of a packed package as a text: what each entry exports, with its types. A change of it is seen in a review. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiExtractor } from './from-registry.ts';

/** The report of `dist/<entry>.d.ts` of the package that is installed in a program's folder, where `@types/node` is found, too. */
export function apiReport(program: string, name: string, entry: string): string {
  const own = join(program, 'api-report');
  mkdirSync(own);
  // What lies below a node_modules is another's, and is not written down.
  for (const part of ['package.json', 'dist'])
    cpSync(join(program, 'node_modules', name, part), join(own, part), { recursive: true });
  const silent = { default: { logLevel: 'none' } };
  writeFileSync(
    join(own, 'config.json'),
    JSON.stringify({
      projectFolder: own,
      mainEntryPointFilePath: join(own, 'dist', `${entry}.d.ts`),
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            module: 'nodenext',
            target: 'es2024',
            lib: ['es2024', 'esnext.disposable'],
            types: ['node'],
            strict: true,
            noEmit: true,
            skipLibCheck: true,
            allowImportingTsExtensions: true,
          },
          files: [`dist/${entry}.d.ts`],
        },
      },
      apiReport: {
        enabled: true,
        reportFolder: own,
        reportTempFolder: join(own, 'temporary'),
        reportFileName: 'report.api.md',
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: { extractorMessageReporting: silent, tsdocMessageReporting: silent },
    }),
  );
  try {
    execFileSync(process.execPath, [apiExtractor(), 'run', '--local', '-c', 'config.json'], {
      cwd: own,
      stdio: 'pipe',
    });
    return readFileSync(join(own, 'report.api.md'), 'utf8');
  } finally {
    rmSync(own, { recursive: true });
  }
}
