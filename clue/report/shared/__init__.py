"""Parts that all subjects of the report use: values of documents, tables, figures, scales, letters."""
