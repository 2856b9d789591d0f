-- What a search looks into: the externalId in lower case, by the rules of Unicode, whatever the collation of the database
-- knows. Written by the service; null until it has filled the rows that were there before.
alter table service.profiles add column search_text text collate "C";
create index profiles_search on service.profiles (account_id, external_id) include (search_text);
create index profiles_without_search on service.profiles (profile_id) where search_text is null;
