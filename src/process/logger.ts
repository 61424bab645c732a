/** Logs: pino objects with stable keys (`component`, `network`, `node`, `object`, `error`), to standard error. */
import { pino, type Logger } from 'pino';
import { faultStack } from '../api/error-text.ts';
import { visibleJson } from '../api/visible-text.ts';

export type { Logger } from 'pino';

/** A logger of level `level`; JSON, one line an event. */
export function createLogger(level: string): Logger {
  const output = pino.destination({ dest: 2, sync: true });
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: {
        error: (error: unknown) =>
          error instanceof Error
            ? {
                message: error.message,
                ...('code' in error ? { code: error.code } : {}),
                stack: faultStack(error),
              }
            : error,
      },
    },
    // `kubectl logs` gives a terminal what is written here.
    { write: (line: string) => output.write(visibleJson(line)) },
  );
}
